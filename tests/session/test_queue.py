"""Prompts that wait can be changed, moved, sent now and dropped, until the model gets them."""

from __future__ import annotations

import asyncio

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.goals import Goal
from agent_ls.domain.stops import StopReason
from agent_ls.session.session import Session
from tests.session.conftest import Open
from tests.session.test_session import _WAITS_FOR_A_YES, _WRITE, Watch, ended_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


def says(text: str, *, expects: str) -> str:
    return f'[[answer]]\ntext = "{text}"\n[answer.expect]\nlast_contains = ["{expects}"]\n'


async def queued(session: Session, watch: Watch, *prompts: str) -> list[str]:
    await session.submit("Do it.")
    await watch.until_asked()
    for one in prompts:
        await session.submit(one, when_busy="follow_up")
    return [one.id for one in session.state.queue]


def texts(session: Session) -> list[str]:
    return [one.text for one in session.state.queue]


async def test_what_waits_is_changed_moved_and_dropped(opened: Open) -> None:
    last = '[[answer]]\ntext = "Done."\n' + says("Yes.", expects="Three!")
    async with opened(_WAITS_FOR_A_YES + last) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        one, two, three = await queued(session, watch, "One?", "Two?", "Three?")
        assert await session.change_queued(three, before=one)
        assert texts(session) == ["Three?", "One?", "Two?"]
        assert await session.change_queued(three, text="Three!", before=three)
        assert texts(session) == ["One?", "Two?", "Three!"]
        assert await session.change_queued(one, is_dropped=True)
        assert await session.change_queued(two, is_dropped=True)
        assert texts(session) == ["Three!"]
        assert await session.resolve_approval(None, _WRITE)
        assert (await ended_of(session)).stop is StopReason.COMPLETED
        assert session.state.turn is not None
        assert session.state.turn.prompt == "Three!"
        assert session.state.turns == 2
        assert not await session.change_queued(three, text="Too late")


async def test_what_waits_for_the_turns_end_is_sent_now(opened: Open) -> None:
    async with opened(_WAITS_FOR_A_YES + says("Done.", expects="and be quick")) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        [waiting] = await queued(session, watch, "be quick")
        assert await session.change_queued(waiting, when_busy="steer")
        assert await session.change_queued(waiting, text="and be quick")
        assert [one.kind for one in session.state.queue] == ["steer"]
        assert await session.resolve_approval(None, _WRITE)
        assert (await ended_of(session)).stop is StopReason.COMPLETED
        assert session.state.turns == 1


async def test_a_fork_has_nothing_of_what_was_changed_and_waits(opened: Open) -> None:
    answers = '[[answer]]\ntext = "Hi."\n' + _WAITS_FOR_A_YES
    async with opened(answers) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        await session.submit("Hello")
        await session.wait_idle()
        [waiting] = await queued(session, watch, "One?")
        assert await session.change_queued(waiting, text="Another")
        fork = await sessions.fork(session.id, turn="1")
        assert not fork.state.queue
        await session.cancel("test")


async def test_what_cannot_be_done_is_refused_and_changes_nothing(opened: Open) -> None:
    async with opened(_WAITS_FOR_A_YES) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        [waiting] = await queued(session, watch, "One?")
        with pytest.raises(AgentLsError, match="drop it instead"):
            await session.change_queued(waiting, text="  ")
        await session.submit("", goal=Goal(text="Tests pass"), when_busy="follow_up")
        goal = session.state.queue[-1].id
        with pytest.raises(AgentLsError, match="a turn of its own"):
            await session.change_queued(goal, when_busy="steer")
        assert not await session.change_queued("pmt_none", is_dropped=True)
        assert not await session.change_queued("", is_dropped=True)
        assert len(session.state.queue) == 2
        await session.cancel("test")


async def test_dropped_and_changed_words_are_the_users_no_more(opened: Open) -> None:
    async with opened(_WAITS_FOR_A_YES + says("Done.", expects="Be exact")) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        await queued(session, watch)
        await session.submit("Be quick")
        await session.submit("Be exakt")
        quick, exact = (one.id for one in session.state.queue)
        await asyncio.gather(
            session.change_queued(quick, is_dropped=True),
            session.change_queued(exact, text="Be exact"),
        )
        assert await session.resolve_approval(None, _WRITE)
        await ended_of(session)
        said = [one.text for one in session.state.messages if one.role == "user"]
        assert said == ["Do it.", "Be exact"]
        assert any(isinstance(one, e.QueuedPromptChanged) for one in watch.events)
