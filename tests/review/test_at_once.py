"""Decisions that a person makes faster than they are carried out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from agent_ls.domain.edits import EditOutcome, FileEdit
from agent_ls.domain.events import Event
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.review import carrying as review_carrying
from agent_ls.review.carrying import Carrying
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
    (folder / "work").mkdir()
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


async def test_a_decision_does_not_wait_for_an_editor_that_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_carrying, "PATIENCE_S", 0.05)
    async with sleepy(tmp_path, is_undone=False) as (session, workspace):
        first = asyncio.create_task(decide(session, "undo", path="a.py"))
        await workspace.begun.wait()
        assert await decide(session, "keep", path="b.py") == [("b.py", "done")]
        assert not first.done()
        workspace.goes_on.set()
        assert await first == [("a.py", "done")]


async def test_a_decision_waits_for_one_that_keeps_file_after_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of three take longer than that, and each of them much less, on a slow disk too.
    monkeypatch.setattr(review_carrying, "PATIENCE_S", 2.0)
    async with sleepy(tmp_path, is_undone=False) as (session, workspace):
        workspace.goes_on.set()
        emit = session.recorder.emit

        async def emit_slowly(event: Event) -> None:
            await asyncio.sleep(1.2)
            await emit(event)

        with monkeypatch.context() as patched:
            patched.setattr(session.recorder, "emit", emit_slowly)
            first = asyncio.create_task(decide(session, "keep"))
            await asyncio.sleep(0)
            assert await decide(session, "undo", path="a.py") == []
        assert await first == [(name, "done") for name in _FILES]
        assert session.texts() == _CHANGED


async def test_a_decision_that_somebody_stops_waiting_for_holds_no_other_up(
    tmp_path: Path,
) -> None:
    async with sleepy(tmp_path, is_undone=False) as (session, workspace):
        first = asyncio.create_task(decide(session, "undo"))
        await workspace.begun.wait()
        second = asyncio.create_task(decide(session, "redo"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        workspace.goes_on.set()
        # What was under way is done to its end, and that alone.
        assert len(await second) == 1
        assert session.texts() == _CHANGED


@pytest.mark.parametrize("is_late", [False, True])
async def test_behind_one_that_sleeps_the_others_go_on_in_their_order(
    monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    monkeypatch.setattr(review_carrying, "PATIENCE_S", 0.2)
    carrying = Carrying(cast("Any", None), cast("Any", None))
    happened: list[str] = []

    async def decision(name: str, wakes: asyncio.Event | None = None) -> None:
        async with carrying.one_decision():
            happened.append(f"{name} begins")
            await (wakes.wait() if wakes else asyncio.sleep(0.01))
            happened.append(f"{name} ends")

    wakes = asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(decision("1", wakes))
        waiting = [tasks.create_task(decision("2"))]
        if is_late:
            # The first one does something before it falls asleep.
            await asyncio.sleep(0.05)
            await carrying.settled(asyncio.sleep(0))
        waiting += [tasks.create_task(decision(name)) for name in "34"]
        await asyncio.wait(waiting)
        wakes.set()
    each = [f"{name} {what}" for name in "234" for what in ("begins", "ends")]
    assert happened == ["1 begins", *each, "1 ends"]
