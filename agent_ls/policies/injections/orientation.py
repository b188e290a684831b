"""Does the model need orientation after a compaction or a resume?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import Compacted, RequestPrepared, SessionResumed
from agent_ls.domain.plans import PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.state.view import TurnView

_MAX_NAMED = 12


class OrientationOptions(Record):
    """How much is said."""

    max_tokens: int = Field(default=300, ge=0)
    """Size of the slot; 0: none."""


@dataclass(frozen=True, slots=True)
class Orientation:
    """Tells the model once, after a compaction or a resume, what was done, and to go on.

    Source: seed 000, resume orientation; seed 002, resume.
    """

    name: ClassVar[str] = "orientation"
    options: OrientationOptions = OrientationOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        lines: list[str] = []
        if resumed := view.each_since(SessionResumed, RequestPrepared):
            lines.append(_after_resume(resumed[-1]))
        if view.each_since(Compacted, RequestPrepared):
            lines.append(
                "The conversation was shortened: its older part is the summary above. Take the "
                "summary as what happened, do not do finished work again, and go on at once."
            )
        if not lines or not self.options.max_tokens:
            return None
        return Slot(self.name, 3, self.options.max_tokens, "\n".join([*lines, *_standing(view)]))


def _after_resume(event: SessionResumed) -> str:
    count = len(event.interrupted_calls)
    text = "The work was interrupted and goes on now, from where the conversation stands."
    if count:
        calls = "one call" if count == 1 else f"{count} calls"
        text += (
            f" The effect of {calls} is unknown: look at what is really there before you repeat "
            "anything."
        )
    return f"{text} Files may have changed meanwhile."


def _standing(view: TurnView) -> list[str]:
    lines: list[str] = []
    if files := list(view.turn.touched)[-_MAX_NAMED:]:
        lines.append(f"Files you changed in this turn: {', '.join(files)}.")
    open_items = [one.text for one in view.session.plan if one.status is not PlanStatus.COMPLETED]
    if open_items:
        lines.append(f"Open in your plan: {'; '.join(open_items[:_MAX_NAMED])}.")
    return lines
