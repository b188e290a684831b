"""Should the model run the tests, or write a plan?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect
from agent_ls.domain.events import (
    EditApplied,
    Event,
    PlanUpdated,
    RequestPrepared,
    ToolCallFinished,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.state.view import TurnView

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
    """Suggests tests after many edits, once until a command runs; a plan once in a long turn.

    Source: seed 000, phases (exploring, planning, acting, verifying).
    """

    name: ClassVar[str] = "phase_hints"
    options: PhaseHintsOptions = PhaseHintsOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        if view.mode is Mode.PLAN or view.is_silenced(self.name):
            return None
        text = self._verify(view) or self._plan(view)
        return Slot(self.name, 4, _MAX_TOKENS, text) if text else None

    def _verify(self, view: TurnView) -> str:
        since = view.turn.events.tallied(_SinceCommand)
        every = self.options.verify_after_edits
        if not every or since.edits < every or since.is_said:
            return ""
        return (
            f"{_VERIFY} {since.edits} edits. If the project has tests or a build, run the part "
            "that covers what you changed before you go on."
        )

    def _plan(self, view: TurnView) -> str:
        after = self.options.plan_after_steps
        if not after or view.steps < after or not view.turn.touched or view.session.plan:
            return ""
        if any(True for _ in view.each(PlanUpdated)) or _is_said(view, _PLAN):
            return ""
        return f"{_PLAN}. If more than two steps are left, write them down with update_plan."


class _SinceCommand:
    """Counts the edits since the last command, and notes whether the hint was given since."""

    def __init__(self) -> None:
        self.edits = 0
        self.is_said = False

    def see(self, event: Event) -> None:
        match event:
            case EditApplied(status="applied"):
                self.edits += 1
            case ToolCallFinished(effect=Effect.EXECUTE | Effect.DELEGATE):
                self.edits, self.is_said = 0, False
            case RequestPrepared(slots=slots) if any(_VERIFY in slot for slot in slots):
                self.is_said = True
            case _:
                pass


def _is_said(view: TurnView, words: str) -> bool:
    return any(words in slot for one in view.each(RequestPrepared) for slot in one.slots)
