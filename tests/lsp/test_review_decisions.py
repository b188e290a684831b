"""What a user hears of a decision that nobody waits for, when it could not be carried out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from agent_ls.domain import events as e
from agent_ls.domain.modes import Mode
from agent_ls.loop.state.recorder import Recorder
from agent_ls.lsp.handlers.review_decisions import decide_and_tell, restore_and_tell
from agent_ls.review.ledger import Selection
from agent_ls.review.restore import RestorePoint
from tests.lsp.test_change_hints import Shown
from tests.review.reviewing import Reviewed, reviewed

_FILES = {"a.py": "1\n", "b.py": "1\n"}


class Told:
    """What an editor is told."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []

    def say(self, level: str, text: str) -> None:
        self.words.append((level, text))

    say_brief = say


async def decided(session: Reviewed, *, restores: bool) -> list[tuple[str, str]]:
    """Decide about everything; return what the user is told."""
    told = Told()
    shown = cast("Any", Shown(session.session_id, session.review))
    context = cast("Any", SimpleNamespace(editor=told))
    if restores:
        await restore_and_tell(context, shown, RestorePoint("trn_1"))
    else:
        await decide_and_tell(context, "undo", [(shown, Selection())])
    return told.words


@asynccontextmanager
async def changed(folder: Path) -> AsyncGenerator[Reviewed]:
    """Let a turn have changed two files."""
    place = folder / "work"
    place.mkdir()
    async with reviewed(place, _FILES) as session:
        await session.turn()
        for name in _FILES:
            await session.agent_writes(name, "2\n")
        await session.end()
        await session.restart()
        yield session


async def test_why_nothing_could_be_done_is_told_once_for_all_files(tmp_path: Path) -> None:
    async with changed(tmp_path) as session:
        await session.review.ledger()
        # Another process has opened the session, too, and went on with it.
        journal = await session.store.load(session.session_id)
        other = Recorder(session.session_id, session.store, session.clock, journal)
        await other.emit(e.ModeChanged(mode=Mode.ASK))
        [(level, words)] = await decided(session, restores=False)
        assert level == "warning"
        assert words.startswith("b.py, a.py: undo was not possible, ")
        assert session.texts() == dict.fromkeys(_FILES, "2\n")


async def test_a_history_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    for restores, verb in ((False, "undo"), (True, "restore")):
        folder = tmp_path / verb
        folder.mkdir()
        async with changed(folder) as session:
            await session.store.close()
            [(level, words)] = await decided(session, restores=restores)
            assert level == "error"
            assert words.startswith(f"{verb} was not possible: ")


async def test_a_name_that_one_file_had_after_the_other_is_told_once(tmp_path: Path) -> None:
    async with reviewed(tmp_path / "work", {"b.py": "b\n"}) as session:
        await session.turn()
        await session.agent_writes("d.py", "made\n")
        for old, new in (("d.py", "t.py"), ("b.py", "d.py"), ("t.py", "b.py")):
            await session.agent_moves(old, new)
        await session.end()
        assert await decided(session, restores=True) == [("info", "Restored: b.py.")]
        assert session.texts() == {"b.py": "b\n"}
