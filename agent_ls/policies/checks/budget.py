"""Has the turn spent the tokens or the money it may spend?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import (
    AdviceGiven,
    AdvisoryRaised,
    AttemptFinished,
    ChildEnded,
    Compacted,
    Event,
    Moved,
)
from agent_ls.domain.phases import Phase
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Nudge, Proceed, Recover
from agent_ls.loop.view import TurnView


class BudgetOptions(Record):
    """What one turn may spend."""

    max_tokens: int = Field(default=1_000_000, ge=0)
    """Input and output tokens of all requests of a turn together; 0: no limit."""
    max_cost_usd: float = Field(default=5.0, ge=0)
    """What all requests of a turn may cost together; 0: no limit."""
    advise_at: float = Field(default=0.75, gt=0, le=1)
    """Share of either limit from which the model is told once to come to an end."""
    recover: bool = True
    """At a limit shorten the conversation once, and go on for a little if that saves enough."""
    min_saved: float = Field(default=0.2, ge=0, le=1)
    """Part of the conversation that has to be saved for that."""
    raise_by: float = Field(default=0.1, ge=0, le=1)
    """By how much the limit that was reached is raised then, once a turn."""


@dataclass(frozen=True, slots=True)
class _Spent:
    """One limit, and how much of it is used."""

    used: float
    limit: float
    unit: str
    is_raised: bool = False

    @property
    def share(self) -> float:
        return self.used / self.limit

    def __str__(self) -> str:
        if self.unit == "USD":
            return f"{self.used:,.2f} of {self.limit:,.2f} USD"
        return f"{self.used:,.0f} of {self.limit:,.0f} {self.unit}"


@dataclass(frozen=True, slots=True)
class Budget:
    """Advises once when a limit comes near; at the limit saves what it can, then closes the turn.

    Source: seed 000 economics and budget recovery, seed 002 cost tracking, seed 004 resource exit.
    """

    name: ClassVar[str] = "budget"
    options: BudgetOptions = BudgetOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        """Answer from what the turn's requests used, and whether a recovery was tried."""
        recovery = view.turn.events.tallied(_Recovery)
        before = recovery.begun_at
        raised = before is not None and recovery.saved >= self.options.min_saved
        spent = self._spent(view.usage, before if raised else None)
        share = max((one.share for one in spent), default=0.0)
        if share >= 1.0:
            return self._exhausted(spent, is_first=before is None)
        if raised and before is not None:
            text = self._raised(spent, before)
            return Proceed() if _is_told(view, text) else Nudge(text, priority=0)
        if share >= self.options.advise_at and not view.advised(self.name):
            return Nudge(
                f"You have used {_words(spent, self.options.advise_at)} of this turn. "
                "Finish what you are doing, check it, and leave out what is not needed.",
                priority=0,
            )
        return Proceed()

    def _spent(self, usage: Usage, before: Usage | None) -> list[_Spent]:
        """Return each limit that is set; those that were used up at ``before`` are raised."""
        rows = [
            _Spent(usage.total_tokens, self.options.max_tokens, "tokens"),
            _Spent(usage.cost_usd, self.options.max_cost_usd, "USD"),
        ]
        rows = [row for row in rows if row.limit]
        if before is None:
            return rows
        used_up = {one.unit for one in self._spent(before, None) if one.share >= 1.0}
        raised = 1 + self.options.raise_by
        return [
            replace(row, limit=row.limit * raised, is_raised=True) if row.unit in used_up else row
            for row in rows
        ]

    def _raised(self, spent: list[_Spent], before: Usage) -> str:
        limits = {one.unit: one.limit for one in self._spent(before, None)}
        new = [one for one in spent if one.limit != limits[one.unit]]
        words = " and ".join(str(replace(one, used=one.limit)).partition(" of ")[2] for one in new)
        return (
            f"The budget of this turn was used up. The conversation was shortened, so the limit "
            f"is raised once, to {words}. Finish the most important thing now."
        )

    def _exhausted(self, spent: list[_Spent], *, is_first: bool) -> CheckVerdict:
        """Say what happens at a limit: the first time in a turn it is saved what can be."""
        why = f"The turn has used {_words(spent, 1.0)}."
        if is_first and self.options.recover:
            return Recover(why)
        raised = any(one.is_raised for one in spent if one.share >= 1.0)
        return CloseOut(
            StopReason.BUDGET_LIMIT,
            f"{why} {'The limit had been raised once. ' if raised else ''}"
            "Prompt again to go on with a fresh budget, or raise policies.budget in the settings.",
        )


class _Recovery:
    """What was spent when the turn went to save its budget, and what that saved."""

    def __init__(self) -> None:
        self.begun_at: Usage | None = None
        self.saved = -1.0
        """Part of the conversation; less than nothing when nothing was shortened."""
        self._used = Usage()
        self._is_saving = False

    def see(self, event: Event) -> None:
        match event:
            case AttemptFinished(usage=usage) | AdviceGiven(usage=usage) | ChildEnded(usage=usage):
                self._used += usage
            case Moved(to=to, recovers=recovers):
                self._is_saving = recovers and to is Phase.COMPACT
                if self._is_saving and self.begun_at is None:
                    self.begun_at = self._used
            case Compacted(before_tokens=before, after_tokens=after) if self._is_saving:
                self.saved = (before - after) / max(before, 1)
            case _:
                pass


def _is_told(view: TurnView, text: str) -> bool:
    return any(one.text == text for one in view.each(AdvisoryRaised))


def _words(spent: list[_Spent], share: float) -> str:
    """Return the amounts that reached ``share`` of their limit."""
    return " and ".join(str(one) for one in spent if one.share >= share)
