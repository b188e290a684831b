"""What was allowed of a plan runs, even when the user says something else meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent_ls.domain.approvals import QuestionAnswer
from agent_ls.domain.events import QuestionAsked, StoredEvent
from tests.loop.conftest import Stage
from tests.support.turns import TURN_LIMIT_S, User

SCENARIO = """
[[answer]]
[[answer.call]]
tool = "write_file"
arguments = { path = "a.txt", content = "good day\\n" }

[[answer]]
text = "The plan: write the greeting."

[[answer]]
text = "It is written, and short."
[answer.expect]
contains = ["These steps of the plan run now: write_file.", "Created a.txt", "Keep it short."]
"""


class Talker(User):
    """Says something to the agent before they answer its question."""

    def on_event(self, stored: StoredEvent) -> None:
        self.events.append(stored.event)
        if isinstance(stored.event, QuestionAsked):
            self._do(self._talk(stored.event.question.id))

    async def _talk(self, question_id: str) -> bool:
        await self.session.submit("Keep it short.")
        return await self.session.resolve_question(
            question_id, QuestionAnswer(text="all", by="test")
        )


@pytest.mark.asyncio(loop_scope="session")
async def test_words_said_meanwhile_do_not_drop_the_plan(tmp_path: Path, stage: Stage) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with stage.opened(folder, SCENARIO, settings_toml='mode = "plan"') as sessions:
        session = await sessions.create()
        session.follow(Talker(session, []))
        await session.submit("Greet politely.")
        async with asyncio.timeout(TURN_LIMIT_S):
            ended = await session.wait_idle()
    assert ended is not None
    assert ended.output == "It is written, and short."
    assert (folder / "a.txt").read_text() == "good day\n"
