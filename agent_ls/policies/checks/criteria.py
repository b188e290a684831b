"""Has a goal turn reached its goal?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed
from agent_ls.loop.evidence.proofs import unproven
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class Criteria:
    """Closes a goal turn once all its criteria are proven since the last change.

    Source: S4, exit when all acceptance criteria are met.
    """

    name: ClassVar[str] = "criteria"

    async def check(self, view: TurnView) -> CheckVerdict:
        goal = view.goal
        if goal is None or not (goal.commands or goal.judged) or unproven(view):
            return Proceed()
        return CloseOut(StopReason.COMPLETED, "Every acceptance criterion and test is proven.")
