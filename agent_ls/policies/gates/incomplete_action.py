"""Did the answer announce an action without calling a tool? When in doubt, the answer passes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.evidence.announcements import announced_action
from agent_ls.loop.evidence.user_intent import wants_no_action
from agent_ls.loop.state.view import TurnView


class IncompleteActionOptions(Record):
    """How often an announced action is asked for."""

    max_nudges: int = Field(default=2, ge=0)
    """In one turn, before it ends as ``incomplete_action``."""


@dataclass(frozen=True, slots=True)
class IncompleteAction:
    """Asks for the tool calls that an answer announced and did not make.

    Passes if the user asked the model to wait or only to answer, silenced this gate, or if the
    step had no tools. Source: S0, incomplete action check.
    """

    name: ClassVar[str] = "incomplete_action"
    stop: ClassVar[StopReason] = StopReason.INCOMPLETE_ACTION
    options: IncompleteActionOptions = IncompleteActionOptions()

    @property
    def cap(self) -> int:
        return self.options.max_nudges

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        # In plan mode, announcing actions is the task.
        if view.is_silenced(self.name) or view.mode is Mode.PLAN or view.turn.text_only:
            return Pass()
        # The first look at a language compiles its patterns, a tenth of a second or more.
        announced = await asyncio.to_thread(announced_action, answer.text)
        if announced is None or wants_no_action(view.user_words):
            return Pass()
        return Nudge(
            f"You wrote “{announced}” but called no tool, so nothing happened. "
            "Do it now, with tool calls. If everything the user asked for is already done, "
            "or you have to wait for the user, say that plainly instead.",
            shown=f"The agent wrote “{announced}” and did nothing.",
        )
