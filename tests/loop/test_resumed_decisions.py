"""A process that dies between a decision and what follows from it has decided all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.loop.ports import Provider
from agent_ls.store.sql_store import open_store
from tests.support.scripted import scripted
from tests.support.turns import TURN_LIMIT_S, open_test_sessions

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASKED: list[e.Event] = [
    e.PrefixSet(system="You help.", tools=(), reason="first"),
    e.Moved(to=Phase.PREPARE),
    e.RequestPrepared(step_id="stp_1", number=1),
    e.Moved(to=Phase.CALL),
    e.AttemptFinished(step_id="stp_1", failure=ProviderFailure.OVERLOADED, message="busy"),
]


def decided(action: str, stop: StopReason | None = None) -> list[e.Event]:
    chosen = e.RecoveryChosen(
        step_id="stp_1", origin="transport", action=action, text="busy", stop=stop
    )
    return [*ASKED, chosen]


async def check(
    folder: Path,
    host: Provider,
    port: int,
    happened: list[e.Event],
    settings: str,
    expected: StopReason,
) -> e.TurnEnded:
    """Go on from a journal that ends like this; the model must not be asked for anything."""
    created = e.SessionCreated(
        session_id="ses_1", roots=(folder.as_uri(),), mode=Mode.AUTO, model="openai/scripted"
    )
    journal = [created, e.TurnStarted(turn_id="trn_1", prompt="Do it."), *happened]
    store = open_store(str(folder.parent / f"{folder.name}-store.db"))
    await store.append(
        [
            e.StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=event)
            for seq, event in enumerate(journal, 1)
        ],
        durable=True,
    )
    await store.close()
    async with (
        scripted("", port=port) as model,
        open_test_sessions(folder, host, settings_toml=settings) as sessions,
    ):
        session = await sessions.open("ses_1")
        session.resume()
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
        assert ended is not None
        assert (ended.stop, model.requests) == (expected, [])
        return ended


async def test_a_step_that_was_given_up_is_not_tried_again(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    settings = "[policies.failure_limit]\nmax_failed_steps = 1\n"
    ended = await check(
        tmp_path, model_host, model_port, decided("fail_step"), settings, StopReason.ERROR
    )
    assert "1 steps in a row" in ended.failure_reason


async def test_a_turn_that_failed_is_over(
    tmp_path: Path, model_host: Provider, model_port: int
) -> None:
    refused = decided("fail", StopReason.REFUSAL)
    ended = await check(tmp_path, model_host, model_port, refused, "", StopReason.REFUSAL)
    assert ended.failure_reason == "busy"
