"""What a user attaches to a prompt: what the model reads of it, and what is refused in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.attachments import Attachment, place_name, with_attachments
from agent_ls.domain.errors import AgentLsError, FileTooLarge, NotText
from agent_ls.loop.ports.workspace import Root
from agent_ls.session import attachments
from agent_ls.session.attachments import Attaching
from agent_ls.workspace.disk import DiskWorkspace

KEY = "sk-ant-" + "a1B2c3D4" * 5


def attaching(folder: Path, files: dict[str, str | bytes] | None = None) -> Attaching:
    root = folder.resolve() / "work"
    for name, content in (files or {}).items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    root.mkdir(exist_ok=True)
    return Attaching(DiskWorkspace([Root("work", root, False)]))


def read(found: Attaching) -> list[str]:
    """Return the lines that the model reads below the head, which is told once."""
    said = with_attachments("Do it.", found.found).splitlines()
    assert said[:2] == ["Do it.", ""]
    assert "no instruction" in said[2]
    return said[3:]


async def test_a_file_lines_of_it_and_a_folder_are_read_with_their_places(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "shop/prices.py": "one\ntwo\nthree\n",
        "shop/data.bin": b"\0\1",
        "build/out.js": "x",
        ".gitignore": "build/\n",
    }
    found = attaching(tmp_path, files)
    await found.file("shop/prices.py")
    await found.file("shop/prices.py", (1, 2), kind="range")
    await found.file("shop/prices.py", (2, 2), kind="symbol", name="Cart.total")
    await found.folder("shop")
    await found.folder(".")
    assert read(found) == [
        "shop/prices.py:",
        *("    1  one", "    2  two", "    3  three"),
        "shop/prices.py, lines 2 to 3:",
        *("    2  two", "    3  three"),
        "Cart.total in shop/prices.py, line 3:",
        "    3  three",
        "Files in shop:",
        *("shop/data.bin", "shop/prices.py"),
        "Files in .:",
        *(".gitignore", "shop/data.bin", "shop/prices.py"),
    ]
    names = [one.name for one in found.found]
    assert names == ["prices.py", "prices.py:2-3", "Cart.total", "shop/", "work/"]
    assert [one.note for one in found.found] == [""] * 5


async def test_other_encodings_line_ends_and_an_empty_file_are_read(tmp_path: Path) -> None:
    found = attaching(
        tmp_path,
        {"a.txt": "Gr\u00fc\u00dfe\r\nan\r\n".encode("utf-16"), "b.txt": b"", "c.txt": b"no end"},
    )
    for name in ("a.txt", "b.txt", "c.txt"):
        await found.file(name)
    assert read(found) == [
        "a.txt:",
        *("    1  Gr\u00fc\u00dfe", "    2  an"),
        "b.txt (the file is empty)",
        "c.txt:",
        "    1  no end",
    ]


async def test_what_may_not_be_told_or_is_not_there_is_refused(tmp_path: Path) -> None:
    found = attaching(tmp_path, {".env": "X=hunter2\n", "a.py": "x\n", "dir/b.py": "y\n"})
    root = tmp_path.resolve() / "work"
    os.link(root / ".env", root / "notes.txt")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "outside.txt").write_text("out")
    for path, why in (
        (".env", "holds secrets. It does not go with a prompt."),
        ("notes.txt", "is a hard link"),
        ("../outside.txt", "outside"),
        ("link.txt", "out of the workspace"),
        ("no.py", "no.py does not exist"),
        ("dir", "dir is a folder"),
    ):
        with pytest.raises(AgentLsError, match=why):
            await found.file(path)
    with pytest.raises(AgentLsError, match=r"a.py has only 1 lines"):
        await found.file("a.py", (1, 1))
    with pytest.raises(AgentLsError, match="a"):
        await found.folder("a.py")
    with pytest.raises(AgentLsError, match="holds secrets"):
        found.problems(".env", [(0, "hunter2 is weak")])
    with pytest.raises(AgentLsError, match="shows no problems in a"):
        found.problems("a.py", [])
    assert found.found == []


async def test_a_binary_file_is_refused_for_a_reason(tmp_path: Path) -> None:
    found = attaching(tmp_path, {"a.bin": b"\0\1\2", "big.txt": "x" * 40 + "\n"})
    with pytest.raises(NotText, match="binary file") as error:
        await found.file("a.bin")
    said = str(attachments.refusal("a.bin", error.value))
    assert "It cannot be attached: write its name" in said
    assert "Write its name" in str(attachments.refusal("a.log", FileTooLarge("is too large")))


async def test_all_texts_share_the_room_and_what_is_cut_is_said(tmp_path: Path) -> None:
    long = "".join(f"line {number} {'x' * 90}\n" for number in range(1, 1_001))
    found = attaching(
        tmp_path, {"a.py": long, "b.py": long, "c.py": "c\n", "wide.txt": "w" * 9_000}
    )
    await found.file("wide.txt")
    await found.file("a.py")
    await found.file("b.py", (4, 9))
    found.terminal("old\n" * 9 + "new", "zsh")
    found.given("style.md", "Use tabs.")
    wide, first, second, terminal, given = found.found
    assert len(wide.text) < 300
    assert "more characters" in wide.text
    assert first.note.startswith("the first 3")
    assert first.note.endswith(" of 1,000 lines; read the rest")
    assert second.note.endswith("; read the file") or second.note.endswith("; read the rest")
    assert sum(len(one.text) for one in found.found) <= attachments.MAX_CHARACTERS
    assert terminal.text.endswith("new")
    assert given.name == "style.md"


def test_a_terminal_is_told_without_its_colours_and_secrets_and_ends_with_the_last_line(
    tmp_path: Path,
) -> None:
    found = attaching(tmp_path)
    found.terminal(f"\x1b[31mFAILED\x1b[0m {KEY}\n", "bash \u202e")
    found.terminal("old line\n" * 9_000 + "the end", "")
    assert found.found[0].text.startswith("FAILED [masked")
    assert found.found[0].name == "bash " or found.found[0].name.startswith("bash ")
    assert (found.found[1].name, found.found[1].note) == ("terminal", "without its beginning")
    assert found.found[1].text.endswith("old line\nthe end")


def test_problems_texts_and_changes_are_cleaned(tmp_path: Path) -> None:
    found = attaching(tmp_path, {"a.py": "x\n"})
    found.problems("a.py", [(0, f"error: bad {KEY}\u202e\nnext")])
    found.problems("a.py", [(line, "is wrong") for line in range(60)])
    found.given(".env", "X=hunter2", may_be_told=False)
    found.changes("work", f"+key = {KEY}\n", "without 1 file that may hold secrets")
    found.changes("other", "")
    said = "\n".join(read(found))
    assert KEY not in said
    assert "hunter2" not in said
    assert "\u202e" not in said
    assert "Problems that the editor shows in a.py:\n- line 1: error: bad [masked" in said
    assert ".env (not shown: it holds secrets" in said
    assert "Uncommitted changes in work, as git shows them (without 1 file" in said
    assert "Uncommitted changes in other, as git shows them (there are none)" in said
    assert [one.name for one in found.found[:2]] == ["a.py:1, 1 problem", "a.py, 60 problems"]
    assert found.found[1].note == "the first 50 of 60"


async def test_too_many_are_refused(tmp_path: Path) -> None:
    found = attaching(tmp_path)
    for _ in range(attachments.MAX_ATTACHMENTS):
        found.given("a", "b")
    with pytest.raises(AgentLsError, match="at most 50 attachments"):
        found.given("a", "b")


def test_names_of_places_are_short() -> None:
    for given, name in (
        (("shop/prices.py",), "prices.py"),
        (("shop/prices.py", 12, 14), "prices.py:13-15"),
        (("prices.py", 12, 12), "prices.py:13"),
        (("prices.py", 0), "prices.py:1"),
        (("shop/tests/",), "tests"),
    ):
        assert place_name(*given) == name


def test_events_of_before_are_read_and_new_ones_come_back() -> None:
    old = '{"v": 1, "type": "turn_started", "turn_id": "trn_1", "prompt": "Go."}'
    assert e.TurnStarted.model_validate_json(old).attachments == ()
    one = Attachment(kind="range", name="a.py:1", path="a.py", first_line=0, last_line=0, text="x")
    for event in (
        e.TurnStarted(turn_id="trn_1", prompt="Go.", attachments=(one,)),
        e.PromptQueued(text="Go.", kind="steer", attachments=(one,)),
    ):
        assert type(event).model_validate_json(event.model_dump_json()) == event
