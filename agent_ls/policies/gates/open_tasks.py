"""Is the plan that the model made in this turn carried out?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import GateVerdict, Nudge, Pass
from agent_ls.loop.evidence.user_intent import wants_no_action
from agent_ls.loop.state.view import TurnView

_MAX_LISTED = 20


class OpenTasksOptions(Record):
    """How often the model is sent back to its plan."""

    max_nudges: int = Field(default=2, ge=0)
    """In one turn, before it ends as ``open_tasks``."""


@dataclass(frozen=True, slots=True)
class OpenTasks:
    """Sends the model back to plan items that are neither completed nor blocked.

    Passes in plan mode, when the user asked to wait or only to answer, and for a plan that an
    earlier turn left over. Source: S0, open tasks gate.
    """

    name: ClassVar[str] = "open_tasks"
    stop: ClassVar[StopReason] = StopReason.OPEN_TASKS
    options: OpenTasksOptions = OpenTasksOptions()

    @property
    def cap(self) -> int:
        return self.options.max_nudges

    async def judge(self, answer: AssistantMessage, view: TurnView) -> GateVerdict:
        if view.is_silenced(self.name) or view.mode is Mode.PLAN or view.turn.text_only:
            return Pass()
        items = view.open_tasks
        if not items or wants_no_action(view.user_words):
            return Pass()
        lines = [f"- {item.text} ({item.status})" for item in items[:_MAX_LISTED]]
        if len(items) > _MAX_LISTED:
            lines.append(f"… and {len(items) - _MAX_LISTED} more.")
        return Nudge(
            "Your plan still has open items:\n" + "\n".join(lines) + "\n"
            "Carry them out. If some are done, blocked or no longer wanted, update the plan to say "
            "so, then finish.",
            shown="The plan still has open items:\n" + "\n".join(lines),
        )
