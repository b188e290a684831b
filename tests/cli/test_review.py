"""``diff``, ``keep``, ``undo``, ``redo``, ``restore`` and ``review``, after real runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_ls.cli.main import main
from tests.cli.test_run import folder, running
from tests.support.screens import at_screen
from tests.support.scripted import scripted

__all__ = ["folder"]
pytestmark = pytest.mark.heavy

_LINES = "".join(f"line {number}\n" for number in range(1, 31))


def _edit(path: str, *edits: tuple[str, str]) -> str:
    pairs = ", ".join(f'{{ old_string = "{old}", new_string = "{new}" }}' for old, new in edits)
    return f"""
[[answer]]
[[answer.call]]
tool = "edit_file"
arguments = {{ path = "{path}", edits = [{pairs}] }}
[[answer]]
text = "Done."
"""


_SCENARIO = (
    _edit("a.txt", ("line 3", "line three"), ("line 20", "line twenty"))
    + """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "new.txt", content = "made\\n" }
[[answer.call]]
tool = "edit_file"
arguments = { path = "a.txt", edits = [{ old_string = "line 10", new_string = "line ten" }] }
[[answer]]
text = "Done."
"""
)


@dataclass
class Shop:
    """A folder in which the agent has worked, and commands on it."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    async def run(self, *words: str) -> tuple[int, str, str]:
        """Run one command; return its code, output and errors."""
        place = f"store_url={self.folder.parent / 'store.db'}"
        given = [*words, "--workspace", str(self.folder), "--set", place]
        code = await asyncio.to_thread(main, [*given, "--set", "sandbox.use=off"])
        said = self.capsys.readouterr()
        return code, said.out, said.err

    def text(self) -> str:
        return (self.folder / "a.txt").read_text()


@pytest.fixture
async def shop(folder: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """Two turns: two lines of one file, then another line of it and a new file."""
    (folder / "a.txt").write_text(_LINES)
    place = f"store_url={folder.parent / 'store.db'}"
    async with scripted(_SCENARIO) as model:
        for words in (("Say three.",), ("Say ten.", "-c")):
            async with running(folder, model, *words, "--mode", "auto", "--set", place) as process:
                _, err = await process.communicate()
                assert process.returncode == 0, err
    return Shop(folder, capsys)


async def test_a_turn_is_shown_taken_back_and_brought_again(shop: Shop) -> None:
    after = shop.text()
    code, out, err = await shop.run("diff")
    assert (code, "Turn 2 of" in err) == (0, True)
    assert "+line ten\n" in out
    assert "+++ b/new.txt" in out
    assert "line three" not in out.replace(" line three", "")
    code, out, _ = await shop.run("diff", "1", "--stat")
    assert (code, out) == (0, "a.txt  +2 -2\n")
    # Typed meanwhile, elsewhere in the file: it stays.
    (shop.folder / "a.txt").write_text(after.replace("line 30", "line thirty, mine"))
    code, out, _ = await shop.run("undo")
    assert (code, sorted(out.splitlines())) == (
        0,
        ["Undone a.txt: 1 change", "Undone new.txt: 1 change"],
    )
    assert not (shop.folder / "new.txt").exists()
    assert "line 10\n" in shop.text()
    assert "line thirty, mine" in shop.text()
    assert "line three" in shop.text()
    assert (await shop.run("redo"))[0] == 0
    assert (shop.folder / "new.txt").read_text() == "made\n"
    assert shop.text() == after.replace("line 30", "line thirty, mine")
    assert (await shop.run("undo", "1", "--file", "a.txt"))[0] == 0
    assert "line 3\n" in shop.text()
    assert "line ten" in shop.text()
    assert (await shop.run("undo", "--all"))[0] == 0
    assert shop.text() == _LINES.replace("line 30", "line thirty, mine")
    code, out, err = await shop.run("undo")
    assert (code, out) == (1, "")
    assert "There is nothing to undo" in err


async def test_a_conflict_changes_nothing_of_that_line_and_is_shown(shop: Shop) -> None:
    (shop.folder / "a.txt").write_text(shop.text().replace("line three", "line three, mine"))
    code, out, _ = await shop.run("undo", "1")
    assert code == 2
    assert "Undone a.txt: 1 change" in out
    assert "a.txt: undo was not possible" in out
    assert "-line three, mine" in out
    assert "line three, mine" in shop.text()
    assert "line 20\n" in shop.text()
    code, out, err = await shop.run("keep", "7")
    assert (code, out) == (3, "")
    assert "there is no turn 7; the session has 2 turns" in err
    code, _, err = await shop.run("undo", "2", "--file", "none.txt")
    assert code == 3
    assert "changed no none.txt, only a.txt, new.txt" in err


async def test_all_files_go_back_to_before_a_turn(shop: Shop) -> None:
    assert (await shop.run("keep", "2"))[0] == 0
    code, out, _ = await shop.run("restore", "1", "--dry-run")
    assert (code, sorted(out.splitlines())) == (
        0,
        ["Would change a.txt", "Would delete new.txt"],
    )
    assert "line ten" in shop.text()
    code, out, _ = await shop.run("restore", "1")
    assert code == 0, out
    assert shop.text() == _LINES
    assert not (shop.folder / "new.txt").exists()


async def test_a_session_is_named_hidden_and_written(shop: Shop) -> None:
    _, out, _ = await shop.run("sessions")
    session = out.split()[0][-6:]
    code, out, _ = await shop.run("rename", session, "Words", "for", "numbers")
    assert (code, "“Words for numbers”" in out) == (0, True)
    assert "Words for numbers" in (await shop.run("sessions"))[1]
    code, out, _ = await shop.run("export")
    assert code == 0
    assert "Say three." in out
    assert "Say ten." in out
    page = shop.folder.parent / "page.md"
    assert (await shop.run("export", session, "--out", str(page)))[0] == 0
    assert page.read_text() == out
    assert page.stat().st_mode & 0o777 == 0o600
    code, forked, _ = await shop.run("fork", session, "--at", "1")
    assert code == 0
    assert (await shop.run("archive", forked.strip()))[0] == 0
    assert forked.strip() not in (await shop.run("sessions"))[1]
    assert forked.strip() in (await shop.run("sessions", "list", "--all"))[1]
    assert (await shop.run("archive", forked.strip(), "--undo"))[0] == 0
    assert forked.strip() in (await shop.run("sessions"))[1]
    # A fork knows what the turn changed: its numbers are the same.
    code, out, _ = await shop.run("diff", "1", "--session", forked.strip(), "--stat")
    assert (code, out) == (0, "a.txt  +2 -2\n")
    assert (await shop.run("rename", "zzzz", "x"))[0] == 3


async def test_changes_are_decided_one_by_one_with_keys(
    shop: Shop, warm_host: Mapping[str, str]
) -> None:
    home = {"HOME": str(shop.folder.parent / "home")}
    words = ("review", "--set", f"store_url={shop.folder.parent / 'store.db'}")
    async with at_screen(shop.folder, None, *words, variables=home, columns=60) as terminal:
        await terminal.until("1 of 4 · a.txt · Say three.")
        await terminal.until("3 + line three")
        terminal.type("n")
        await terminal.until("2 of 4")
        terminal.type("u")
        await terminal.until("Undone a.txt: 1 change")
        await terminal.until("of 3 ·")
        assert "line 20\n" in shop.text()
        assert "line three" in shop.text()
        terminal.type("q")
        assert await terminal.ended() == 0
    assert "3 left open." in terminal.shown
    code, _, err = await shop.run("review")
    assert (code, "review needs a terminal" in err) == (3, True)
