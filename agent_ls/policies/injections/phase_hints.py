"""In which phase of the work is the model, and what does that phase need?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import EditApplied, PlanUpdated, RequestPrepared, ToolCallFinished
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.view import TurnView

_VERIFY = "Nothing has been run since your last"
_PLAN = "You have changed files in several steps without a plan"
_MAX_TOKENS = 100


class PhaseHintsOptions(Record):
    """When a hint is due; 0 switches one off."""

    verify_after_edits: int = Field(default=8, ge=0)
    """Applied edits without a command in between, after which running tests is suggested."""
    plan_after_steps: int = Field(default=12, ge=0)
    """Steps of a turn that edits and has no plan, after which one is suggested."""


@dataclass(frozen=True, slots=True)
class PhaseHints:
    """Suggests to verify after many edits, and to plan in a long turn; each once in a while.

    Source: seed 000, phases (exploring, planning, acting, verifying).
    """

    name: ClassVar[str] = "phase_hints"
    options: PhaseHintsOptions = PhaseHintsOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        """Answer from the turn's edits, commands and plans."""
        if view.mode is Mode.PLAN or view.is_silenced(self.name):
            return None
        text = self._verify(view) or self._plan(view)
        return Slot(self.name, 4, _MAX_TOKENS, text) if text else None

    def _verify(self, view: TurnView) -> str:
        edits, is_said = _edits_since_command(view)
        every = self.options.verify_after_edits
        if not every or edits < every or is_said:
            return ""
        return (
            f"{_VERIFY} {edits} edits. If the project has tests or a build, run the part that "
            "covers what you changed before you go on."
        )

    def _plan(self, view: TurnView) -> str:
        after = self.options.plan_after_steps
        if not after or view.steps < after or not view.turn.touched or view.session.plan:
            return ""
        if any(True for _ in view.each(PlanUpdated)) or _is_said(view, _PLAN):
            return ""
        return f"{_PLAN}. If more than two steps are left, write them down with update_plan."


def _edits_since_command(view: TurnView) -> tuple[int, bool]:
    """Return the edits since the last command, and whether the hint was given since then."""
    edits, is_said = 0, False
    for stored in view.turn.events:
        match stored.event:
            case EditApplied(status="applied"):
                edits += 1
            case ToolCallFinished(effect=Effect.EXECUTE | Effect.DELEGATE):
                edits, is_said = 0, False
            case RequestPrepared(slots=slots) if any(_VERIFY in slot for slot in slots):
                is_said = True
            case _:
                pass
    return edits, is_said


def _is_said(view: TurnView, words: str) -> bool:
    return any(words in slot for one in view.each(RequestPrepared) for slot in one.slots)
