"""A turn's time also bounds what runs when it is over, not only what would come next."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain.events import Event, ToolCallFinished, TurnEnded
from agent_ls.domain.stops import StopReason
from tests.loop.conftest import Stage
from tests.support.turns import TURN_LIMIT_S, User

pytestmark = pytest.mark.asyncio(loop_scope="session")

_HANGS = '[[answer]]\nhang = "before"\n'
_SLEEPS = f"""
[[answer]]
[[answer.call]]
tool = "run_command"
arguments = {{ command = "sleep {10 * TURN_LIMIT_S:.0f}" }}
"""


async def check(folder: Path, stage: Stage, scenario: str) -> tuple[TurnEnded, list[Event]]:
    """Run a turn that may take a second; return how it ended, and its events."""
    folder.mkdir()
    settings = "mode = 'auto'\npolicies.wall_clock.limit_s = 1\n"
    async with stage.opened(folder, scenario, settings_toml=settings, is_strict=False) as sessions:
        session = await sessions.create()
        user = User(session, [])
        session.follow(user)
        await session.submit("Do it.")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
    assert ended is not None
    return ended, user.events


async def test_a_model_that_does_not_answer_is_not_waited_for(tmp_path: Path, stage: Stage) -> None:
    ended, _ = await check(tmp_path / "project", stage, _HANGS)
    assert ended.stop is StopReason.TIMEOUT
    assert "policies.wall_clock.limit_s" in ended.failure_reason


async def test_a_command_that_does_not_end_is_ended(tmp_path: Path, stage: Stage) -> None:
    closing = '[[answer]]\ntext = "It took too long."\n'
    ended, events = await check(tmp_path / "project", stage, _SLEEPS + closing)
    assert (ended.stop, ended.output) == (StopReason.TIMEOUT, "It took too long.")
    [result] = [one.result for one in events if isinstance(one, ToolCallFinished)]
    assert "did not end within" in result.text


async def test_a_piece_of_a_cut_answer_stands_apart_from_the_closing_words(
    tmp_path: Path, stage: Stage
) -> None:
    cut = '[[answer]]\ntext = "One, "\nfinish = "length"\n'
    closing = '[[answer]]\ntext = "I counted to one."\n'
    scenario = cut + _HANGS + closing
    ended, _ = await check(tmp_path / "project", stage, scenario)
    assert (ended.stop, ended.output) == (StopReason.TIMEOUT, "One, \n\nI counted to one.")
