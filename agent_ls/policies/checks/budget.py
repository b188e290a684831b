"""Has the turn spent the tokens or the money it may spend?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Nudge, Proceed
from agent_ls.loop.view import TurnView


class BudgetOptions(Record):
    """What one turn may spend."""

    max_tokens: int = Field(default=1_000_000, ge=0)
    """Input and output tokens of all requests of a turn together; 0: no limit."""
    max_cost_usd: float = Field(default=5.0, ge=0)
    """What all requests of a turn may cost together; 0: no limit."""
    advise_at: float = Field(default=0.75, gt=0, le=1)
    """Share of either limit from which the model is told once to come to an end."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Advises once when a limit comes near, and closes the turn when it is reached.

    Source: seed 000 economics, seed 002 cost tracking, seed 004 resource exit.
    """

    name: ClassVar[str] = "budget"
    options: BudgetOptions = BudgetOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        """Answer from what the turn's attempts used."""
        spent = self._spent(view)
        share = max((used / limit for used, limit, _ in spent), default=0.0)
        if share >= 1.0:
            return self._exhausted(spent)
        if share >= self.options.advise_at and not view.advised(self.name):
            return Nudge(
                f"You have used {_words(spent, self.options.advise_at)} of this turn. "
                "Finish what you are doing, check it, and leave out what is not needed.",
                priority=0,
            )
        return Proceed()

    def _spent(self, view: TurnView) -> list[tuple[float, float, str]]:
        """Return used amount, limit and unit of each limit that is set."""
        rows = (
            (view.usage.total_tokens, self.options.max_tokens, "tokens"),
            (view.usage.cost_usd, self.options.max_cost_usd, "USD"),
        )
        return [row for row in rows if row[1]]

    def _exhausted(self, spent: list[tuple[float, float, str]]) -> CheckVerdict:
        """Say what happens at a limit: the one place where a recovery would come first."""
        return CloseOut(
            StopReason.BUDGET_LIMIT,
            f"The turn has used {_words(spent, 1.0)}. "
            "Prompt again to go on with a fresh budget, or raise budget in the settings.",
        )


def _words(spent: list[tuple[float, float, str]], share: float) -> str:
    """Return the amounts that reached ``share`` of their limit."""
    return " and ".join(
        f"{used:,.2f} of {limit:,.2f} USD" if unit == "USD" else f"{used:,} of {limit:,} {unit}"
        for used, limit, unit in spent
        if used / limit >= share
    )
