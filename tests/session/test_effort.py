"""How much the model thinks is chosen for a session, above what the settings say."""

from __future__ import annotations

import pytest

from agent_ls.loop.machine.request import request_of
from agent_ls.loop.turn import Turn
from agent_ls.session.session import Session
from tests.session.conftest import Open

pytestmark = pytest.mark.asyncio(loop_scope="session")


def asked(session: Session) -> str | None:
    """Return the effort of the next request."""
    return request_of(Turn(session._services, session._recorder)).reasoning_effort


async def test_the_effort_of_the_session_goes_before_the_settings(opened: Open) -> None:
    settings = '[loop]\nreasoning_effort = "low"\n'
    async with opened('[[answer]]\ntext = "Hi."\n', settings_toml=settings) as (sessions, _):
        session = await sessions.create()
        await session.submit("Hello")
        await session.wait_idle()
        assert asked(session) == "low"
        await session.set_effort("high")
        assert (session.state.effort, asked(session)) == ("high", "high")
        before = session.state.seq
        await session.set_effort("high")
        assert session.state.seq == before
        await session.set_effort("")
        assert asked(session) == "low"
