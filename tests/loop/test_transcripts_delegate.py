"""Sub-agents end to end: their own journals, how they are stopped, and what a crash leaves.

The stories ``child_*.txt`` tell what the parent sees; here the children are looked at.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import StoreError
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.loop.machine.results import result_of
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.providers.scripted import ScriptedModel
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.store.sql_store import open_store
from tests.loop.conftest import Stage
from tests.support.scripted import scripted
from tests.support.trace import trace_of
from tests.support.turns import TURN_LIMIT_S, User, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

DELEGATES = """
[[answer]]
when.first = "Begin."
usage = { input = 1000, output = 10 }
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Look at a.txt." }
"""
LOOKS = """
[[answer]]
when.first = "Look at"
usage = { input = 500, output = 5 }
[[answer.call]]
tool = "read_file"
arguments = { path = "a.txt" }
"""
HANGS = """
[[answer]]
when.first = "Look at"
hang = "before"
"""
ENDS = """
[[answer]]
when.first = "Begin."
usage = { input = 2000, output = 20 }
text = "That is all."
"""


@dataclass
class Watcher(User):
    """The user, who also sees what the sub-agents' calls print."""

    lines: list[str] = field(default_factory=list[str])

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        if isinstance(piece, e.CallOutputStreamed):
            self.lines.append(piece.text)


@dataclass
class Told:
    """How it went."""

    state: SessionState
    events: list[e.Event]
    lines: list[str]
    children: list[list[e.Event]]
    model: ScriptedModel

    def ends(self) -> list[e.ChildEnded]:
        return [one for one in self.events if isinstance(one, e.ChildEnded)]


@asynccontextmanager
async def opened(
    folder: Path, stage: Stage, model: str, settings: str
) -> AsyncGenerator[tuple[Sessions, ScriptedModel]]:
    (folder / "a.txt").write_text("one\n")
    async with (
        scripted(model, port=stage.port) as scripted_model,
        open_test_sessions(folder, stage.host, settings_toml=settings) as sessions,
    ):
        yield sessions, scripted_model


async def check(
    folder: Path,
    stage: Stage,
    model: str,
    *,
    settings: str = "",
    meanwhile: Callable[[Session, ScriptedModel], Awaitable[None]] | None = None,
) -> Told:
    """Run a turn that delegates, and gather what every session says of it."""
    async with opened(folder, stage, model, settings) as (sessions, scripted_model):
        session = await sessions.create()
        user = Watcher(session, [])
        session.follow(user)
        await session.submit("Begin.")
        async with asyncio.timeout(TURN_LIMIT_S):
            if meanwhile is not None:
                await meanwhile(session, scripted_model)
            await session.wait_idle()
        state = session.state
    children = [[one.event for one in journal] for journal in await _journals(folder, session.id)]
    return Told(state, user.events, user.lines, children, scripted_model)


async def _journals(folder: Path, session_id: str) -> list[list[e.StoredEvent]]:
    store = open_store(str(folder.parent / f"{folder.name}-store.db"))
    try:
        found = await store.sessions(parent_id=session_id)
        return [await store.load(one.session_id) for one in reversed(found)]
    finally:
        await store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


async def test_a_sub_agent_has_a_journal_of_its_own_and_no_way_to_delegate_further(
    folder: Path, stage: Stage
) -> None:
    answers = DELEGATES + LOOKS + LOOKS.partition("[[answer.call")[0] + 'text = "one"\n' + ENDS
    told = await check(folder, stage, answers)
    [child] = told.children
    assert trace_of(child) == (
        "session created, mode ask\n"
        "turn trn1 “Look at a.txt.”\n"
        "-> prepare\n"
        "  prefix: first\n"
        "  request 1\n"
        "-> call\n"
        "  attempt tool_calls\n"
        "  answer “” cal1=read_file\n"
        "-> act\n"
        "  cal1 allow by guards\n"
        "  cal1 read_file starts (read) a.txt\n"
        "  cal1 result “    1\tone”\n"
        "-> check\n"
        "-> prepare\n"
        "  request 2\n"
        "-> call\n"
        "  attempt stop\n"
        "  answer “one”\n"
        "-> judge\n"
        "-> done, completed\n"
        "ended success, completed “one”\n"
    )
    created = child[0]
    assert isinstance(created, e.SessionCreated)
    assert (created.agent, created.parent_id) == ("explore", told.state.session_id)
    assert "delegate" in told.model.requests[0].tools
    assert set(told.model.requests[1].tools) == {
        "read_file", "list_dir", "glob", "grep", "read_output", "diagnostics",
        "outline", "find_symbol", "references", "repository_map",
    }  # fmt: skip
    assert told.lines == ["[explore] read_file a.txt\n", "[explore] ended: completed\n"]


async def test_stopping_the_turn_stops_its_sub_agents(folder: Path, stage: Stage) -> None:
    async def stop(session: Session, model: ScriptedModel) -> None:
        await model.wait_for_requests(2)
        await session.cancel("test")

    told = await check(folder, stage, DELEGATES + HANGS, meanwhile=stop)
    [child] = told.children
    assert trace_of(told.events).partition("-> act\n")[2] == (
        "  cal1 allow by guards\n"
        "  cal1 delegate starts (delegate) \n"
        "  cal1 child ses1 explore starts, mode ask, at most 250000 tokens “Look at a.txt.”\n"
        "  cancel by test\n"
        "  cal1 child ses1 explore ends cancelled, 0 steps “”\n"
        "  cal1 result cancelled “Cancelled while it ran; its effect is unknown. Verify before "
        "repeating it.”\n"
        "-> done, cancelled: “Stopped.”\n"
        "ended cancelled, cancelled “” because “Stopped.”\n"
    )
    assert trace_of(child[-3:]) == (
        "  cancel by its parent\n"
        "-> done, cancelled: “Stopped.”\n"
        "ended cancelled, cancelled “” because “Stopped.”\n"
    )


async def test_what_a_stopped_sub_agent_runs_is_ended_with_it(folder: Path, stage: Stage) -> None:
    runs = DELEGATES.replace("explore", "test") + LOOKS.replace("read_file", "run_command").replace(
        'path = "a.txt"', 'command = "sleep 300 & echo $! | tee pid > pid.txt; wait"'
    )
    os.mkfifo(folder / "pid")

    async def stop(session: Session, model: ScriptedModel) -> None:
        # The reading end waits until the command has written.
        assert int(await asyncio.to_thread((folder / "pid").read_text))
        await session.cancel("test")

    told = await check(folder, stage, runs, settings='mode = "auto"', meanwhile=stop)
    assert [one.stop for one in told.ends()] == [StopReason.CANCELLED]
    assert not psutil.pid_exists(int((folder / "pid.txt").read_text()))


async def test_a_sub_agent_finishes_when_its_parent_is_asked_to(folder: Path, stage: Stage) -> None:
    slow = LOOKS.replace("usage", "delay_ms = 1200\nusage")
    report = """
[[answer]]
when.first = "Look at"
expect.last_contains = ["Do not call tools.", "remaining"]
text = '{"findings": ["a.txt says one"]}'
"""
    close = ENDS.replace("text", 'expect.contains = ["a.txt says one"]\ntext')

    async def finish(session: Session, model: ScriptedModel) -> None:
        await model.wait_for_requests(2)
        await session.wrap_up("test")

    told = await check(folder, stage, DELEGATES + slow + report + close, meanwhile=finish)
    [child] = told.children
    assert [one.by for one in child if isinstance(one, e.WrapUpRequested)] == ["test"]


async def test_a_sub_agent_follows_when_its_parents_mode_becomes_stricter(
    folder: Path, stage: Stage
) -> None:
    async def tighten(session: Session, model: ScriptedModel) -> None:
        await model.wait_for_requests(2)
        await session.set_mode(Mode.PLAN)
        await session.cancel("test")

    told = await check(folder, stage, DELEGATES + HANGS, meanwhile=tighten)
    [child] = told.children
    assert [one.mode for one in child if isinstance(one, e.ModeChanged)] == [Mode.PLAN]


async def test_a_sub_agent_out_of_time_reports_within_its_grace_period(
    folder: Path, stage: Stage
) -> None:
    slow = LOOKS.replace("usage", "delay_ms = 2600\nusage")
    report = """
[[answer]]
when.first = "Look at"
expect.last_contains = ["Your time is over. Do not call tools.", "remaining"]
expect.tool_choice = "none"
text = '{"findings": ["a.txt says one"], "remaining": ["the rest"]}'
"""
    told = await check(
        folder,
        stage,
        DELEGATES + slow + report + ENDS,
        settings="tools.delegate = { timeout_s = 2, grace_s = 30 }",
    )
    [ended] = told.ends()
    assert ended.report.findings == ("a.txt says one",)
    assert ended.report.remaining == ("the rest",)
    [child] = told.children
    assert [one.by for one in child if isinstance(one, e.WrapUpRequested)] == ["its time limit"]


async def test_a_sub_agent_that_does_not_even_report_is_stopped(folder: Path, stage: Stage) -> None:
    told = await check(
        folder,
        stage,
        DELEGATES + HANGS + ENDS.replace("text", 'expect.last_contains = ["timeout"]\ntext'),
        settings="tools.delegate = { timeout_s = 2, grace_s = 0.3 }",
    )
    [ended] = told.ends()
    assert ended.stop is StopReason.TIMEOUT
    assert told.state.turn is not None
    assert told.state.turn.stop is StopReason.COMPLETED


async def test_a_sub_agent_whose_process_died_is_settled_and_not_run_again(
    folder: Path, stage: Stage
) -> None:
    answers = (
        DELEGATES.replace("explore", "implement")
        + LOOKS.replace("read_file", "write_file").replace('"a.txt"', '"b.txt", content = "b"')
        + LOOKS.partition("[[answer.call")[0]
        + 'text = "one"\n'
        + ENDS
    )
    settings = 'mode = "auto"'
    async with opened(folder, stage, answers, settings) as (sessions, _):
        session = await sessions.create()
        await session.submit("Begin.")
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.wait_idle()
        journal = await session.journal()
    [child] = await _journals(folder, session.id)
    store_place = folder.parent / f"{folder.name}-store.db"
    for left in folder.parent.glob(f"{store_place.name}*"):
        left.unlink()
    store = open_store(str(store_place))
    await store.append(_until(journal, e.ChildStarted), durable=True)
    await store.append(_until(child, e.EditApplied), durable=True)
    await store.close()
    rest = ENDS.replace("text", 'expect.contains = ["outcome is unknown"]\ntext')
    async with opened(folder, stage, rest, settings) as (sessions, model):
        assert [one.session_id for one in await sessions.interrupted()] == [session.id]
        with pytest.raises(StoreError, match="belongs to a sub-agent"):
            await sessions.open(child[0].session_id)
        again = await sessions.resume(session.id)
        async with asyncio.timeout(TURN_LIMIT_S):
            await again.wait_idle()
        assert model.unused == []
        state = again.state
    [settled] = (
        [one.event for one in state.turn.events if isinstance(one.event, e.ChildEnded)]
        if state.turn
        else []
    )
    assert (settled.stop, [file.path for file in settled.files]) == (
        StopReason.CANCELLED, ["b.txt"],
    )  # fmt: skip
    assert settled.usage.input_tokens == 500
    assert state.turn is not None
    assert list(state.turn.touched) == ["b.txt"]
    [result] = [
        one.event.result for one in state.turn.events if isinstance(one.event, e.ToolCallFinished)
    ]
    assert result.error is ErrorKind.INTERRUPTED
    [dead] = await _journals(folder, session.id)
    child_state = fold_all(dead)
    assert child_state.status is TurnStatus.CANCELLED
    assert child_state.turn is not None
    assert child_state.turn.phase is Phase.DONE


def _until(journal: Sequence[e.StoredEvent], kind: type[object]) -> list[e.StoredEvent]:
    """Return a journal up to its first event of a kind."""
    end = next(at for at, one in enumerate(journal) if isinstance(one.event, kind))
    return list(journal[: end + 1])


async def test_what_a_sub_agent_makes_up_in_a_dry_run_is_told_with_the_rest(
    folder: Path, stage: Stage
) -> None:
    model = """
[[answer]]
when.first = "Begin."
[[answer.call]]
tool = "delegate"
arguments = { kind = "implement", task = "Look at a.txt." }
[[answer]]
when.first = "Look at"
[[answer.call]]
tool = "write_file"
arguments = { path = "b.txt", content = "two\\n" }
[[answer]]
when.first = "Look at"
text = "It is written."
[[answer]]
when.first = "Begin."
text = "That is all."
"""
    settings = 'mode = "auto"\ndry_run = true'
    told = await check(folder, stage, model, settings=settings)
    [created] = [one for one in told.children[0] if isinstance(one, e.SessionCreated)]
    assert created.dry_run
    result = result_of(told.state)
    assert (result.simulated, result.files) == (("write_file b.txt",), ())
    assert not (folder / "b.txt").exists()
