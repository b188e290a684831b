"""Decisions that a user makes faster than they are carried out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.errors import AgentLsError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review import review
from agent_ls.review.ledger import Selection
from tests.review.reviewing import Reviewed, reviewed

_FILES = {"a.py": "one\n", "b.py": "one\n", "c.py": "one\n"}
_CHANGED = dict.fromkeys(_FILES, "1\n")


class Sleepy:
    """A workspace whose next edit waits until it is let go."""

    def __init__(self, whole: Workspace) -> None:
        self._whole = whole
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()

    async def apply(self, edit: FileEdit) -> EditOutcome:
        self.begun.set()
        await self.goes_on.wait()
        return await self._whole.apply(edit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


@asynccontextmanager
async def sleepy(folder: Path, *, is_undone: bool) -> AsyncGenerator[tuple[Reviewed, Sleepy]]:
    """Let a turn have changed three files, and the next edit of a review take its time."""
    async with reviewed(folder / "work", _FILES) as session:
        await session.turn()
        for name in _FILES:
            await session.agent(name, "one", "1")
        await session.end()
        if is_undone:
            await session.undo()
        workspace = Sleepy(session.workspace)
        session.workspace = cast("Workspace", workspace)
        await session.restart()
        yield session, workspace


async def decide(session: Reviewed, how: str, **chosen: str) -> list[tuple[str, str]]:
    """Decide about what is chosen, or restore; return what became of each file."""
    if how == "restore":
        found = await session.review.restore("trn_1")
    else:
        found = await session.review.decide(cast("Any", how), Selection(**chosen))
    return sorted((one.path, one.status) for one in found)


@pytest.mark.parametrize(
    ("those", "after"),
    [
        pytest.param(["undo", "redo"], _CHANGED, id="done again"),
        pytest.param(["undo", "redo", "undo"], _FILES, id="back and forth"),
        pytest.param(["redo", "restore"], _FILES, id="restored"),
        pytest.param(["redo", "keep"], _CHANGED, id="kept"),
        pytest.param(["restore", "redo"], _CHANGED, id="restored and done again"),
    ],
)
async def test_the_later_decision_finds_what_the_earlier_one_made_of_every_file(
    tmp_path: Path, those: list[str], after: dict[str, str]
) -> None:
    async with sleepy(tmp_path, is_undone=those[0] == "redo") as (session, workspace):
        first = asyncio.create_task(decide(session, those[0]))
        await workspace.begun.wait()
        others = [asyncio.create_task(decide(session, how)) for how in those[1:]]
        await asyncio.sleep(0)
        workspace.goes_on.set()
        for told in await asyncio.gather(first, *others):
            assert told == [(name, "done") for name in _FILES]
        assert session.texts() == after


async def test_a_decision_does_not_wait_forever_for_one_whose_edit_waits_in_the_editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sleepy(tmp_path, is_undone=False) as (session, workspace):
        first = asyncio.create_task(decide(session, "undo"))
        await workspace.begun.wait()
        monkeypatch.setattr(review, "_MAX_WAIT_S", 0.0)
        with pytest.raises(AgentLsError, match=r"The undo of all files is still under way"):
            await decide(session, "keep")
        workspace.goes_on.set()
        assert await first == [(name, "done") for name in _FILES]
        assert await decide(session, "redo") == [(name, "done") for name in _FILES]
