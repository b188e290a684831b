"""Is it time to remind the model of its task?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field, PositiveInt

from agent_ls.domain.events import Answered, RequestPrepared, ToolCallFinished
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import one_line
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.state.view import TurnView

_HEADING = "Where you stand:"
_MAX_TASK_CHARS = 800
_MAX_WORDS_CHARS = 200
_MAX_NAMED = 8
_MAX_ERRORS = 2


class RecitationOptions(Record):
    """How often the model is reminded, and how much of."""

    above_tokens: tuple[int, ...] = (0, 10_000, 30_000, 60_000)
    """Conversation sizes from which the entry at the same position in ``every_steps`` holds."""
    every_steps: tuple[PositiveInt, ...] = (10, 7, 5, 3)
    """Steps between two reminders."""
    on_first_step: bool = False
    """Remind in the first step too, although the task was just said. An open plan always counts."""
    max_tokens: int = Field(default=500, ge=0)
    """Size of a reminder; 0: none."""


@dataclass(frozen=True, slots=True)
class Recitation:
    """Repeats task, plan, files and errors, more often the longer the conversation is.

    Source: seed 000, recitation (Trick Q).
    """

    name: ClassVar[str] = "recitation"
    options: RecitationOptions = RecitationOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        if not self.options.max_tokens or not self._is_due(view):
            return None
        return Slot(self.name, 3, self.options.max_tokens, _text(view))

    def _is_due(self, view: TurnView) -> bool:
        if view.steps == 0:
            # A plan that an earlier turn left open has not been mentioned in this one.
            return self.options.on_first_step or _has_open_plan(view)
        interval = self._interval(view.context_tokens)
        return interval is not None and _steps_since(view) >= interval

    def _interval(self, context_tokens: int) -> int | None:
        rows = zip(self.options.above_tokens, self.options.every_steps, strict=False)
        reached = [every for above, every in rows if context_tokens >= above]
        return reached[-1] if reached else None


def _has_open_plan(view: TurnView) -> bool:
    return any(item.status is not PlanStatus.COMPLETED for item in view.session.plan)


def _steps_since(view: TurnView) -> int:
    """Return how many steps ago the last reminder was sent, or the turn began."""
    count = 0
    for stored in reversed(view.turn.events):
        match stored.event:
            case RequestPrepared(slots=slots) if any(s.startswith(_HEADING) for s in slots):
                break
            case Answered():
                count += 1
            case _:
                pass
    return count


def _text(view: TurnView) -> str:
    lines = [_HEADING, f"Task: {one_line(view.turn.prompt, _MAX_TASK_CHARS)}"]
    if steers := view.user_words[1:]:
        lines.append(f"The user added: {one_line(steers[-1], _MAX_WORDS_CHARS)}")
    if view.session.plan:
        lines.append(_plan(view.session.plan))
    if files := list(view.turn.touched)[-_MAX_NAMED:]:
        lines.append(f"Files you changed: {', '.join(files)}")
    failed = [one.result for one in view.each(ToolCallFinished) if one.result.error is not None]
    for result in failed[-_MAX_ERRORS:]:
        lines.append(f"Recent error: {one_line(result.text, _MAX_WORDS_CHARS)}")
    return "\n".join(lines)


def _plan(items: tuple[PlanItem, ...]) -> str:
    done = sum(item.status is PlanStatus.COMPLETED for item in items)
    left = [
        f"{one_line(item.text, _MAX_WORDS_CHARS)} ({item.status})"
        for item in items
        if item.status is not PlanStatus.COMPLETED
    ]
    rest = f"; next: {'; '.join(left[:_MAX_NAMED])}" if left else ""
    return f"Plan: {done} of {len(items)} done{rest}"
