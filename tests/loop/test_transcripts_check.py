"""Told turns in which CHECK hears of something from outside while the turn runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain import events as e
from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.session.session import Session
from tests.loop.conftest import Stage
from tests.support.trace import trace_of
from tests.support.turns import TURN_LIMIT_S, User, run_turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

_PLANS_AND_WRITES = """
[[answer]]
[[answer.call]]
tool = "update_plan"
arguments = { items = [{ text = "write a.txt", status = "completed" }, { text = "write b.txt" }] }
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hey" }

[[answer]]
text = '{"findings": [], "remaining": ["b.txt"]}'
[answer.expect]
tool_choice = "none"
"""


class Hurried(User):
    """Asks the turn to finish while it waits for an approval."""

    def __init__(self, session: Session, words: str) -> None:
        super().__init__(session, [])
        self._words = words

    def on_event(self, stored: e.StoredEvent) -> None:
        self.events.append(stored.event)
        if isinstance(stored.event, e.ApprovalRequested):
            self._do(self._hurry(stored.event.request.id))

    async def _hurry(self, approval_id: str) -> bool:
        assert await self.session.wrap_up("test", self._words)
        answer = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="test")
        return await self.session.resolve_approval(approval_id, answer)


async def check(folder: Path, stage: Stage, words: str, expected: str) -> tuple[e.TurnEnded, str]:
    """Tell the turn with these words for its end, which the last request must hold."""
    folder.mkdir()
    scenario = _PLANS_AND_WRITES + f'last_contains = ["{expected}"]\n'
    async with stage.opened(folder, scenario) as sessions:
        session = await sessions.create()
        hurried = Hurried(session, words)
        session.follow(hurried)
        await session.submit("Write both files.")
        ended = await _end_of(session)
        assert not await session.wrap_up("test")
        return ended, trace_of(hurried.events)


async def _end_of(session: Session) -> e.TurnEnded:
    async with asyncio.timeout(TURN_LIMIT_S):
        ended = await session.wait_idle()
    assert ended is not None
    return ended


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param("", "You are asked to come to an end now.", id="with-the-usual-words"),
        pytest.param("Answer as JSON: findings, remaining.", "Answer as JSON", id="with-its-own"),
    ],
)
async def test_a_turn_that_is_asked_to_finish_ends_with_an_answer(
    words: str, expected: str, tmp_path: Path, stage: Stage
) -> None:
    ended, trace = await check(tmp_path / "project", stage, words, expected)
    assert (ended.stop, ended.status) == (StopReason.OPEN_TASKS, TurnStatus.PARTIAL)
    assert ended.output == '{"findings": [], "remaining": ["b.txt"]}'
    # What had begun was brought to its end first.
    assert (tmp_path / "project" / "a.txt").read_text() == "hey"
    assert trace.index("a.txt applied") < trace.index("-> close, open_tasks")


_FILLS_A_SMALL_WINDOW = """
[[answer]]
usage = { input = 8100, output = 20 }
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "hey" }

[[answer]]
text = "I have no room for more."
[answer.expect]
tool_choice = "none"
"""


class Chooser(Hurried):
    """Chooses a model with a small window while an approval waits."""

    async def _hurry(self, approval_id: str) -> bool:
        await self.session.set_model("openai/gpt-4")
        answer = ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="test")
        return await self.session.resolve_approval(approval_id, answer)


async def test_the_window_of_a_model_chosen_meanwhile_counts(tmp_path: Path, stage: Stage) -> None:
    async with stage.opened(tmp_path, _FILLS_A_SMALL_WINDOW) as sessions:
        session = await sessions.create()
        session.follow(Chooser(session, ""))
        await session.submit("Write it.")
        ended = await _end_of(session)
    assert ended.stop is StopReason.CONTEXT_FULL
    assert "of the model's 8,192 tokens" in ended.failure_reason


async def test_who_asks_for_an_end_before_a_turn_is_told_that_none_runs(
    tmp_path: Path, stage: Stage
) -> None:
    async with stage.opened(tmp_path, '[[answer]]\ntext = "Hi."') as sessions:
        session = await sessions.create()
        assert not await session.wrap_up("test")
        ended, _ = await run_turn_of(session, "Hello?")
        assert ended.stop is StopReason.COMPLETED


async def test_a_turn_ends_when_the_machines_resources_are_used_up(
    tmp_path: Path, stage: Stage
) -> None:
    settings = "policies.resources.max_memory_bytes = 1000000"
    async with stage.opened(tmp_path, "", settings_toml=settings) as sessions:
        ended, _ = await run_turn_of(await sessions.create(), "Hello?")
    assert (ended.stop, ended.status) == (StopReason.RESOURCE_LIMIT, TurnStatus.PARTIAL)
    assert "of 1 MB of memory" in ended.failure_reason
    assert "policies.resources" in ended.failure_reason
