"""Has the turn reached its step limit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record, Trust
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed
from agent_ls.loop.state.view import TurnView


class StepLimitOptions(Record):
    """How many steps a turn may take."""

    max_steps: Annotated[int, Trust.LOWER] = Field(default=50, ge=0)
    """Accepted model answers in one turn; 0: no limit."""
    max_plan_steps: int = Field(default=20, ge=0)
    """The same in plan mode, which only reads; 0: no limit of its own."""


@dataclass(frozen=True, slots=True)
class StepLimit:
    """Closes the turn at its step limit.

    Source: S0 ``max_iterations``, S2, S3 and S4.
    """

    name: ClassVar[str] = "step_limit"
    options: StepLimitOptions = StepLimitOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        limit, name = self._limit(view.mode)
        if limit and view.steps >= limit:
            return CloseOut(
                StopReason.MAX_STEPS,
                f"The turn used all {limit} steps it may take. "
                f"Prompt again to go on, or raise policies.step_limit.{name} in the settings "
                "(--max-steps of `agent-ls run`).",
            )
        return Proceed()

    def _limit(self, mode: Mode) -> tuple[int, str]:
        """Return the lowest limit of this mode, with its option's name; 0 without a limit."""
        limits = [(self.options.max_steps, "max_steps")]
        if mode is Mode.PLAN:
            limits.append((self.options.max_plan_steps, "max_plan_steps"))
        return min((limit for limit in limits if limit[0]), default=(0, ""))
