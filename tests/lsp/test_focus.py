"""What the model is told of where the user is, and what of it is not told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain.events import Anchor
from agent_ls.domain.focus import Focus, with_focus
from agent_ls.loop.ports.workspace import Root
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.wire import EditorDiagnostic
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.focus import focus_of
from agent_ls.workspace.disk import DiskWorkspace
from tests.lsp.test_editor_workspace import Editor

KEY = "sk-ant-" + "a1B2c3D4" * 5


def reported(*lines: int, message: str = "is wrong") -> list[EditorDiagnostic]:
    return [
        EditorDiagnostic(line=line, end_line=line, message=message, source="other")
        for line in lines
    ]


def check(
    folder: Path,
    files: dict[str, str],
    path: str | None = None,
    lines: tuple[int, int | None] | None = None,
    problems: dict[str, list[EditorDiagnostic]] | None = None,
    **more: Any,
) -> str:
    """Return what follows the prompt when these files are open, the last one used last."""
    root = folder.resolve() / "work"
    root.mkdir(exist_ok=True)
    documents = DocumentStore()
    workspace = EditorWorkspace(
        DiskWorkspace([Root("work", root, False)]), documents, Editor(documents)
    )
    lookup = DocumentLookup(documents, workspace)
    uris = {name: (root / name).as_uri() for name in {**files, **(problems or {})}}
    for name, text in files.items():
        documents.open(uris[name], "text", 1, text)
    found = {uris[name]: many for name, many in (problems or {}).items()}
    focus = focus_of(lookup, found, None if path is None else uris[path], lines, **more)
    assert Focus.model_validate_json(focus.model_dump_json()) == focus
    return with_focus("Do it.", focus).removeprefix("Do it.")


def test_nothing_open_adds_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, {}) == ""


def test_words_alone_are_about_the_file_used_last(tmp_path: Path) -> None:
    said = check(tmp_path, {"b.py": "", "a.py": ""}, problems={"c.py": reported(1)})
    assert said.splitlines()[3:] == [
        "Active file: a.py",
        "Also open: b.py",
        "The editor reports there:",
        "- c.py, line 2: is wrong (other)",
    ]


def test_a_cursor_and_all_problems_are_told_those_of_its_file_first(tmp_path: Path) -> None:
    problems = {"b.py": reported(0), "a.py": reported(70)}
    said = check(tmp_path, {"b.py": "", "a.py": ""}, "a.py", (4, None), problems)
    assert "Active file: a.py, the cursor in line 5\n" in said
    assert said.endswith("- line 71: is wrong (other)\n- b.py, line 1: is wrong (other)")


def test_a_selection_is_told_with_its_text_and_its_problems_alone(tmp_path: Path) -> None:
    files = {"a.py": "one\ntwo\nthree\nfour\n"}
    problems = {"a.py": reported(0, 2), "b.py": reported(1)}
    said = check(tmp_path, files, "a.py", (1, 2), problems)
    assert "selected: lines 2 to 3\n    2  two\n    3  three\n" in said
    assert said.count("is wrong") == 1
    assert "one" not in said


def test_a_file_of_secrets_is_named_and_not_told(tmp_path: Path) -> None:
    for name in (".env", "deploy/.env.local", "id_rsa", "key.pem"):
        problems = {name: reported(0, message="hunter2 is weak")}
        said = check(tmp_path, {name: "PASSWORD=hunter2\n"}, name, (0, 0), problems, around=3)
        assert "hunter2" not in said, name
        assert name in said
        assert "holds secrets" in said


def test_a_hard_link_to_a_file_of_secrets_is_named_and_not_told(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    (root / ".env").write_text("PASSWORD=hunter2\n")
    os.link(root / ".env", root / "notes.txt")
    problems = {"notes.txt": reported(0, message="hunter2 is weak")}
    said = check(tmp_path, {"notes.txt": "PASSWORD=hunter2\n"}, "notes.txt", (0, 0), problems)
    assert "hunter2" not in said
    assert "notes.txt" in said


def test_secrets_and_hidden_characters_are_taken_out(tmp_path: Path) -> None:
    text = f'key = "{KEY}"\nx = "a\u200b\u202eb"\n'
    problems = {"a.py": reported(0, message=f"bad {KEY}\u202e\nnext")}
    said = check(tmp_path, {"a.py": text}, "a.py", (0, 1), problems)
    assert KEY not in said
    assert "\u200b" not in said
    assert "\u202e" not in said


def test_files_outside_the_folders_are_not_told(tmp_path: Path) -> None:
    said = check(tmp_path, {"../out.py": "secret = 1\n"}, "../out.py", (0, 0))
    assert said == ""


def test_whatever_is_open_and_reported_the_size_has_a_limit(tmp_path: Path) -> None:
    files = {f"{number}.py": "" for number in range(500)} | {"a.py": "long " * 9_999 + "\n" * 9_999}
    problems = {"a.py": reported(*range(900), message="m" * 9_999)}
    for lines in ((0, 9_000), (0, 10**9), (10**9, 10**9 + 1), (5, None)):
        said = check(tmp_path, files, "a.py", lines, problems)
        assert len(said) < 12_000


NO_FILE = "Active: a buffer without a file, "


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "file://", "buffer:7"])
@pytest.mark.parametrize(
    ("lines", "place", "first", "last"),
    [
        ((2, 3), "selected: lines 3 to 4", 3, 4),
        ((2, 2), "selected: line 3", 3, 3),
        ((50, None), "the cursor in line 51", 21, 80),
    ],
)
def test_of_a_buffer_without_a_file_the_text_is_told(
    tmp_path: Path, uri: str, lines: tuple[int, int | None], place: str, first: int, last: int
) -> None:
    text = "".join(f"word{number} {KEY}\n" for number in range(1, 200))
    said = with_focus("Do it.", focus_of(opened(tmp_path, uri, text), {}, uri, lines))
    assert f"{NO_FILE}{place}; no tool can read or change it:" in said
    shown = [line.split()[1] for line in said.splitlines() if "  word" in line]
    assert shown == [f"word{number}" for number in range(first, last + 1)]
    assert KEY not in said


@pytest.mark.parametrize("uri", ["git:/proj/.env", "output:log", "https://example.org/a"])
def test_of_other_texts_without_a_file_nothing_is_told(tmp_path: Path, uri: str) -> None:
    focus = focus_of(opened(tmp_path, uri, "PASSWORD=hunter2\n"), {}, uri, (0, 0))
    assert with_focus("Do it.", focus) == "Do it."


def test_where_the_user_was_is_the_line_that_a_request_named_last(tmp_path: Path) -> None:
    lookup = opened(tmp_path, "untitled:1", "a\n", "a.py", "b.py")
    a, b = ((tmp_path.resolve() / "work" / name).as_uri() for name in ("a.py", "b.py"))
    lookup.touch(a, 7)
    lookup.touch(b)
    assert lookup.here() == Anchor(path="b.py", line=0)
    lookup.touch(a)
    assert lookup.here() == Anchor(path="a.py", line=7)
    lookup.touch("untitled:1", 3)
    assert lookup.here() is None


def opened(folder: Path, uri: str, text: str, *names: str) -> DocumentLookup:
    """Return where the user is with this document open, and files of the workspace."""
    root = folder.resolve() / "work"
    root.mkdir(exist_ok=True)
    documents = DocumentStore()
    workspace = EditorWorkspace(
        DiskWorkspace([Root("work", root, False)]), documents, Editor(documents)
    )
    lookup = DocumentLookup(documents, workspace)
    documents.open(uri, "text", 1, text)
    for name in names:
        documents.open((root / name).as_uri(), "text", 1, "")
    return lookup
