"""One task runs the turns of a session: whatever comes at once, each has one machine, one end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.calls import ErrorKind, ToolCall
from agent_ls.domain.errors import AgentLsError, StoreError
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import STATUS, StopReason
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.ports.store import Store
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from tests.session.conftest import Open
from tests.support.turns import TURN_LIMIT_S, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

_ASKS = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hey" }
"""


def says(*texts: str) -> str:
    return "".join(f'[[answer]]\ntext = "{text}"\n' for text in texts)


@dataclass
class React:
    """Does something the moment an event is there, before anybody else can."""

    is_meant: Callable[[e.Event], bool]
    do: Callable[[], Coroutine[Any, Any, object]]
    tasks: list[asyncio.Future[object]] = field(default_factory=list[asyncio.Future[object]])

    def on_event(self, stored: e.StoredEvent) -> None:
        if not self.tasks and self.is_meant(stored.event):
            self.tasks.append(asyncio.ensure_future(self.do()))

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        pass


@dataclass
class SlowStore:
    """The store, where one event takes until the test says so, and may fail then."""

    inner: Store
    is_meant: Callable[[e.Event], bool]
    error: StoreError | None = None
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, events: Sequence[e.StoredEvent], *, durable: bool) -> None:
        await self.inner.append(events, durable=durable)
        if not self.reached.is_set() and any(self.is_meant(one.event) for one in events):
            self.reached.set()
            await self.goes_on.wait()
            if self.error is not None:
                raise self.error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def slowed(
    sessions: Sessions, is_meant: Callable[[e.Event], bool], error: StoreError | None = None
) -> SlowStore:
    store = SlowStore(sessions._store, is_meant, error)
    sessions._store = store
    return store


def starts(text: str) -> Callable[[e.Event], bool]:
    return lambda event: isinstance(event, e.TurnStarted) and event.prompt == text


async def check(session: Session) -> list[e.Event]:
    """Wait for the end of everything, and see that each turn began once and ended once."""
    async with asyncio.timeout(TURN_LIMIT_S):
        await session.wait_idle()
    events = [one.event for one in await session.journal()]
    begun = [one.turn_id for one in events if isinstance(one, e.TurnStarted)]
    ended = [one.turn_id for one in events if isinstance(one, e.TurnEnded)]
    assert begun == ended
    assert not session.is_busy
    requests = [one for one in events if isinstance(one, e.RequestPrepared)]
    finished = [one for one in events if isinstance(one, e.AttemptFinished)]
    assert len(requests) == len(finished)
    return events


def stops(events: Sequence[e.Event]) -> list[StopReason]:
    return [one.stop for one in events if isinstance(one, e.TurnEnded)]


async def test_of_two_prompts_at_once_one_begins_the_turn_and_the_other_steers_it(
    opened: Open,
) -> None:
    async with opened(says("Both.")) as (sessions, model):
        session = await sessions.create()
        one, two = await asyncio.gather(session.submit("one"), session.submit("two"))
        assert one == two
        assert stops(await check(session)) == [StopReason.COMPLETED]
        assert [said["content"] for said in model.requests[0].messages[-2:]] == ["one", "two"]


async def test_a_prompt_for_afterwards_that_comes_while_the_first_is_stored_does_not_end_it(
    opened: Open,
) -> None:
    async with opened(says("One.", "Two.")) as (sessions, _):
        session = await sessions.create()
        await asyncio.gather(session.submit("one"), session.submit("two", when_busy="follow_up"))
        assert stops(await check(session)) == [StopReason.COMPLETED] * 2


async def test_a_prompt_and_a_stop_at_once_are_one_turn_that_was_stopped(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        _, is_stopped = await asyncio.gather(session.submit("one"), session.cancel("test"))
        assert is_stopped
        assert stops(await check(session)) == [StopReason.CANCELLED]


async def test_a_stop_while_what_was_queued_begins_ends_it(opened: Open) -> None:
    async with opened(says("One.")) as (sessions, _):
        store = slowed(sessions, starts("two"))
        session = await sessions.create()
        await session.submit("one")
        await session.submit("two", when_busy="follow_up")
        async with asyncio.timeout(TURN_LIMIT_S):
            await store.reached.wait()
        assert await session.cancel("test")
        store.goes_on.set()
        assert stops(await check(session)) == [StopReason.COMPLETED, StopReason.CANCELLED]


async def test_a_stop_between_two_turns_keeps_the_second_from_beginning(opened: Open) -> None:
    async with opened(says("One.")) as (sessions, _):
        session = await sessions.create()
        stop = React(lambda event: isinstance(event, e.TurnEnded), lambda: session.cancel("test"))
        session.follow(stop)
        await session.submit("one")
        await session.submit("two", when_busy="follow_up")
        assert stops(await check(session)) == [StopReason.COMPLETED]
        assert await stop.tasks[0] is True
        assert session.state.queue == ()


@pytest.mark.parametrize("when_busy", ["steer", "follow_up"])
async def test_what_is_said_after_the_stop_begins_a_turn_of_its_own(
    opened: Open, when_busy: Any
) -> None:
    async with opened(_ASKS + says("Three.")) as (sessions, model):
        session = await sessions.create()
        asked = asyncio.Event()

        async def stop() -> None:
            await session.submit("two", when_busy=when_busy)
            await session.cancel("test")
            await session.submit("three", when_busy=when_busy)
            asked.set()

        session.follow(React(lambda event: isinstance(event, e.ApprovalRequested), stop))
        await session.submit("one")
        async with asyncio.timeout(TURN_LIMIT_S):
            await asked.wait()
        events = await check(session)
        assert stops(events) == [StopReason.CANCELLED, StopReason.COMPLETED]
        said = [one["content"] for one in model.requests[-1].messages if one["role"] == "user"]
        assert said[-2:] == ["one", "three"]


async def test_a_prompt_that_cannot_be_stored_leaves_no_turn_behind(opened: Open) -> None:
    async with opened(says("Once.")) as (sessions, model):
        store = slowed(sessions, starts("one"), StoreError("the disk is full"))
        store.goes_on.set()
        session = await sessions.create()
        with pytest.raises(StoreError, match="the disk is full"):
            await session.submit("one")
        assert not session.is_busy
        await session.submit("again")
        assert stops(await check(session)) == [StopReason.ERROR, StopReason.COMPLETED]
        assert len(model.requests) == 1


async def test_words_for_a_turn_that_cannot_be_stored_begin_one_that_can(opened: Open) -> None:
    async with opened(says("Two.")) as (sessions, _):
        store = slowed(sessions, starts("one"), StoreError("the disk is full"))
        session = await sessions.create()
        first = asyncio.ensure_future(session.submit("one"))
        async with asyncio.timeout(TURN_LIMIT_S):
            await store.reached.wait()
        await session.submit("two")
        store.goes_on.set()
        with pytest.raises(StoreError, match="the disk is full"):
            await first
        assert stops(await check(session)) == [StopReason.ERROR, StopReason.COMPLETED]


async def test_who_stops_waiting_for_the_turns_id_does_not_stop_the_turn(opened: Open) -> None:
    async with opened(says("Done.")) as (sessions, _):
        store = slowed(sessions, starts("one"))
        session = await sessions.create()
        waiting = asyncio.ensure_future(session.submit("one"))
        async with asyncio.timeout(TURN_LIMIT_S):
            await store.reached.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert stops(await check(session)) == [StopReason.COMPLETED]


def cut_off() -> list[e.Event]:
    """Return what a dead process leaves: a turn without an end, and words that waited for it."""
    call = ToolCall(id="cal_1", provider_id="call_1", tool="read_file", arguments_json="{}")
    return [
        e.TurnStarted(turn_id="trn_1", prompt="Delete everything old."),
        e.PromptQueued(text="And then commit.", kind="follow_up"),
        e.Answered(step_id="stp_1", message=AssistantMessage(text="", calls=(call,))),
        e.Moved(to=Phase.ACT),
    ]


async def test_a_new_prompt_ends_a_turn_that_was_cut_off_instead_of_going_on_with_it(
    opened: Open,
) -> None:
    async with opened(says("Noon.")) as (sessions, model):
        session = await sessions.create()
        for event in cut_off():
            await session._recorder.emit(event)
        assert session.is_cut_off
        await session.submit("What time is it?", when_busy="follow_up")
        events = await check(session)
        assert stops(events) == [StopReason.CANCELLED, StopReason.COMPLETED]
        results = [one.result.error for one in events if isinstance(one, e.ToolCallFinished)]
        assert results == [ErrorKind.CANCELLED]
        [request] = model.requests
        said = [one["content"] for one in request.messages if one["role"] == "user"]
        assert said == ["Delete everything old.", "What time is it?"]


async def test_a_new_prompt_drops_what_waited_for_a_turn_of_a_dead_process(opened: Open) -> None:
    async with opened(says("Noon.")) as (sessions, _):
        session = await sessions.create()
        stop = StopReason.COMPLETED
        for event in (
            *cut_off()[:2],
            e.TurnEnded(turn_id="trn_1", stop=stop, status=STATUS[stop], output=""),
        ):
            await session._recorder.emit(event)
        await session.submit("What time is it?", when_busy="follow_up")
        events = await check(session)
        begun = [one.prompt for one in events if isinstance(one, e.TurnStarted)]
        assert begun == ["Delete everything old.", "What time is it?"]


async def test_closing_leaves_a_turn_that_was_cut_off_as_it_is(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        for event in cut_off():
            await session._recorder.emit(event)
    async with open_test_sessions(tmp_path, model_host) as sessions:
        assert [one.session_id for one in await sessions.interrupted()] == [session.id]


async def test_a_session_that_was_closed_takes_no_prompt(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with open_test_sessions(tmp_path, model_host) as sessions:
        session = await sessions.create()
        await session.close()
        with pytest.raises(AgentLsError, match="was closed here"):
            await session.submit("one")


def folded(*events: e.Event) -> SessionState:
    return fold_all(
        e.StoredEvent(session_id="ses_1", seq=seq, at_ms=0, event=event)
        for seq, event in enumerate(events, 1)
    )


async def test_what_a_stop_dropped_in_an_old_journal_is_gone_with_the_next_turn() -> None:
    stop = StopReason.CANCELLED
    begun = e.TurnStarted(turn_id="trn_1", prompt="one")
    late = e.PromptQueued(text="two", kind="steer")
    ended = e.TurnEnded(turn_id="trn_1", stop=stop, status=STATUS[stop], output="")
    stopped = (begun, e.CancelRequested(by="test"), late, ended)
    assert folded(*stopped).queue == (late,)
    assert folded(*stopped, e.TurnStarted(turn_id="trn_2", prompt="three")).queue == ()
    assert folded(*stopped, e.TurnStarted(turn_id="trn_2", prompt="two")).queue == ()
