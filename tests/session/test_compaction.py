"""A conversation is shortened when the user asks for it: now, or before the next step."""

from __future__ import annotations

import asyncio

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.stops import StopReason
from agent_ls.session.session import Session
from tests.session.conftest import Open
from tests.session.test_session import LIMIT_S, Watch

pytestmark = pytest.mark.asyncio(loop_scope="session")

_SUMMARY = "THE SUMMARY"
_LONG = "words " * 3_000
_SETTINGS = """
models.cheap = "openai/scripted-small"
policies.summarize.keep_steps = 1
"""
_TWO_TURNS = f"""
[[answer]]
text = "{_LONG}"
[[answer]]
text = "Short."
"""
_SUMMARISES = f"""
[[answer]]
text = "{_SUMMARY}"
"""
_ASKS = """
[[answer]]
[[answer.call]]
tool = "ask_user"
arguments = { question = "Which?" }
"""


async def idle(session: Session) -> None:
    async with asyncio.timeout(LIMIT_S):
        await session.wait_idle()


async def say(session: Session, *prompts: str) -> None:
    for one in prompts:
        await session.submit(one)
        await idle(session)


def settled(session: Session, watch: Watch) -> list[e.CompactionSettled]:
    assert not session.state.is_compaction_asked
    return [one for one in watch.events if isinstance(one, e.CompactionSettled)]


async def test_between_turns_it_is_shortened_at_once_and_the_next_turn_goes_on(
    opened: Open,
) -> None:
    after = f'[[answer]]\ntext = "Well."\n[answer.expect]\ncontains = ["{_SUMMARY}"]\n'
    async with opened(_TWO_TURNS + _SUMMARISES + after, settings_toml=_SETTINGS) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        await say(session, "One?", "Two?")
        turns, before = session.state.turns, len(session.state.messages)
        await session.compact("user")
        await idle(session)
        assert settled(session, watch) == [e.CompactionSettled(is_shorter=True)]
        assert session.state.turns == turns
        assert len(session.state.messages) < before
        assert _SUMMARY in session.state.messages[0].text
        await session.submit("Three?")
        ended = await session.wait_idle()
        assert ended is not None
        assert ended.stop is StopReason.COMPLETED


async def test_a_short_conversation_stays_as_it_is(opened: Open) -> None:
    async with opened('[[answer]]\ntext = "Hi."\n') as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        await say(session, "Hello")
        before = session.state.messages
        await session.compact("user")
        await idle(session)
        assert settled(session, watch) == [e.CompactionSettled(is_shorter=False)]
        assert session.state.messages == before


async def test_a_running_turn_is_shortened_before_its_next_step(opened: Open) -> None:
    scenario = _TWO_TURNS.partition('[[answer]]\ntext = "Short')[0] + _ASKS + _SUMMARISES
    async with opened(scenario + '[[answer]]\ntext = "Done."\n', settings_toml=_SETTINGS) as (
        sessions,
        _,
    ):
        session = await sessions.create()
        watch = Watch(session)
        await say(session, "One?")
        await session.submit("Two?")
        await watch.until(lambda event: isinstance(event, e.QuestionAsked))
        await session.compact("user")
        assert not any(isinstance(one, e.Compacted) for one in watch.events)
        await session.resolve_question(None, e.QuestionAnswer(text="This one.", by="test"))
        await idle(session)
        assert settled(session, watch) == [e.CompactionSettled(is_shorter=True)]
        kinds = [type(one) for one in watch.events]
        at = kinds.index(e.Compacted)
        assert kinds.index(e.QuestionResolved) < at
        assert e.RequestPrepared in kinds[at:]


async def test_a_turn_that_ends_before_another_step_is_followed_by_the_compaction(
    opened: Open,
) -> None:
    async with opened(_TWO_TURNS + _SUMMARISES, settings_toml=_SETTINGS) as (sessions, _):
        session = await sessions.create()
        watch = Watch(session)
        await say(session, "One?")
        watch.events.clear()
        await session.submit("Two?")
        await watch.until(lambda event: isinstance(event, e.RequestPrepared))
        await session.compact("user")
        await idle(session)
        assert settled(session, watch) == [e.CompactionSettled(is_shorter=True)]


async def test_what_cannot_be_shortened_is_said(opened: Open) -> None:
    async with opened("") as (sessions, _):
        session = await sessions.create()
        with pytest.raises(AgentLsError, match="no conversation to shorten yet"):
            await session.compact("user")
