"""What is said to a session while one of its sub-agents begins holds for the sub-agent too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.modes import Mode
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.state import SessionState
from agent_ls.session.session import Session
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

_SCENARIO = """
[[answer]]
when.first = "Begin."
[[answer.call]]
tool = "delegate"
arguments = { kind = "implement", task = "Look at a.txt." }

[[answer]]
when.first = "Look at"
text = "Looked."

[[answer]]
when.first = "Begin."
text = "Done."
"""


@dataclass
class WhileItBegins:
    """Does something to the parent the moment it says that a sub-agent begins."""

    do: Callable[[], Awaitable[object]]
    child_id: str = ""
    tasks: list[asyncio.Future[object]] = field(default_factory=list[asyncio.Future[object]])

    def on_event(self, stored: e.StoredEvent) -> None:
        if isinstance(stored.event, e.ChildStarted):
            self.child_id = stored.event.child_id
            self.tasks.append(asyncio.ensure_future(self.do()))

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        pass


async def check(
    folder: Path, host: Provider, port: int, do: Callable[[Session], Awaitable[object]]
) -> SessionState:
    """Return how the sub-agent's session stands in the end."""
    async with (
        # One that has to finish before it began asks nobody.
        scripted(_SCENARIO, port=port, is_strict=False),
        open_test_sessions(folder, host, settings_toml='mode = "auto"') as sessions,
    ):
        session = await sessions.create()
        watch = WhileItBegins(lambda: do(session))
        session.follow(watch)
        await session.submit("Begin.")
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.wait_idle()
        journal = await sessions._store.load(watch.child_id)
        assert isinstance(journal[0].event, e.SessionCreated)
        return fold_all(journal)


async def test_a_stricter_mode(tmp_path: Path, model_host: Provider, model_port: int) -> None:
    child = await check(
        tmp_path, model_host, model_port, lambda session: session.set_mode(Mode.PLAN)
    )
    assert child.mode is Mode.PLAN


async def test_a_revoked_permission(tmp_path: Path, model_host: Provider, model_port: int) -> None:
    child = await check(
        tmp_path,
        model_host,
        model_port,
        lambda session: session._recorder.emit(e.GrantsRevoked(grants=("edit",), why="test")),
    )
    assert child.revoked == {"edit"}


async def test_the_wish_to_finish(tmp_path: Path, model_host: Provider, model_port: int) -> None:
    child = await check(tmp_path, model_host, model_port, lambda session: session.wrap_up("test"))
    assert child.turn is not None
    assert [one.by for one in child.turn.events.of(e.WrapUpRequested)] == ["test"]


_MANY = """
[[answer]]
when.first = "Begin."
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Look at a.txt." }
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Look at b.txt." }
[[answer.call]]
tool = "delegate"
arguments = { kind = "explore", task = "Look at c.txt." }

[[answer]]
when.first = "Look at"
repeat = 0
text = "Looked."

[[answer]]
when.first = "Begin."
text = "Done."
"""


async def test_a_turn_starts_only_so_many(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    async with (
        scripted(_MANY, port=model_port, is_strict=False),
        open_test_sessions(
            tmp_path, model_host, settings_toml='mode = "auto"\ntools.delegate.max_per_turn = 2'
        ) as sessions,
    ):
        session = await sessions.create()
        await session.submit("Begin.")
        async with asyncio.timeout(TURN_LIMIT_S):
            await session.wait_idle()
        journal = await sessions._store.load(session.id)
    events = [one.event for one in journal]
    refused = [
        one.result.text
        for one in events
        if isinstance(one, e.ToolCallFinished) and one.result.error
    ]
    assert sum(isinstance(one, e.ChildStarted) for one in events) == 2
    assert len(refused) == 1
    assert "all it may" in refused[0]
