"""Has the turn used up its tokens or its money?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

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
from agent_ls.domain.record import Record, Trust
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Halt, Nudge, Proceed, Recover
from agent_ls.loop.state.view import TurnView


class BudgetOptions(Record):
    """What one turn may spend."""

    max_tokens: Annotated[int, Trust.LOWER] = Field(default=1_000_000, ge=0)
    """Input and output tokens of all requests of a turn together; 0: no limit."""
    max_cost_usd: Annotated[float, Trust.LOWER] = Field(default=5.0, ge=0)
    """What all requests of a turn may cost together; 0: no limit."""
    advise_at: float = Field(default=0.75, gt=0, le=1)
    """Share of either limit from which the model is told once to come to an end."""
    recover: bool = True
    """At a limit shorten the conversation once, and go on for a little if that saves enough."""
    min_saved: float = Field(default=0.2, ge=0, le=1)
    """Part of the conversation that has to be saved for that."""
    raise_by: float = Field(default=0.1, ge=0, le=1)
    """By how much the limit that was reached is raised then, once a turn."""


_USD = "USD"
_AGAIN = (
    "Prompt again to go on with a fresh budget, or raise it: policies.budget in the settings, "
    "--budget-usd of `agent-ls run`, --task-budget-usd of a batch."
)
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class _Spent:
    used: float
    limit: float
    unit: str
    is_raised: bool = False

    @property
    def share(self) -> float:
        return self.used / self.limit

    def __str__(self) -> str:
        if self.unit == _USD:
            return f"{self.used:,.2f} of {self.limit:,.2f} USD"
        return f"{self.used:,.0f} of {self.limit:,.0f} {self.unit}"


@dataclass(frozen=True, slots=True)
class Budget:
    """Nudges once near a limit. At the limit, shortens the conversation once, then closes the turn.

    If the model's price is known, money for one more step and the closing words is held back. So
    only an answer that is longer than those before can exceed the limit. Source: S0 economics
    and budget recovery, S2 cost tracking, S4 resource exit.
    """

    name: ClassVar[str] = "budget"
    options: BudgetOptions = BudgetOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        recovery = view.turn.events.tallied(_Recovery)
        before, next_usd = recovery.begun_at, _next_usd(view)
        spent = self._spent(view.usage)
        if (ending := self._out_of_money(spent, next_usd, is_first=before is None)) is not None:
            return ending
        raised = self._used_up(before, next_usd) if recovery.saved >= self.options.min_saved else ()
        spent = [self._raise(one) if one.unit in raised else one for one in spent]
        share = max((one.share for one in spent), default=0.0)
        if share >= 1.0:
            return self._exhausted(spent, is_first=before is None)
        if raised:
            text = self._raised([one for one in spent if one.is_raised])
            return Proceed() if _is_told(view, text) else Nudge(text, priority=0)
        if share >= self.options.advise_at and not view.advised(self.name):
            return Nudge(
                f"You have used {_words(spent, self.options.advise_at)} of this turn. "
                "Finish what you are doing, check it, and leave out what is not needed.",
                priority=0,
            )
        return Proceed()

    def _spent(self, usage: Usage) -> list[_Spent]:
        rows = [
            _Spent(usage.total_tokens, self.options.max_tokens, "tokens"),
            _Spent(usage.cost_usd, self.options.max_cost_usd, _USD),
        ]
        return [row for row in rows if row.limit]

    def _used_up(self, before: Usage | None, next_usd: float) -> tuple[str, ...]:
        """Return the units of the limits that were reached; money only if no price is known."""
        if before is None:
            return ()
        used_up = [one.unit for one in self._spent(before) if one.share >= 1.0]
        return tuple(one for one in used_up if one != _USD or not next_usd)

    def _raise(self, one: _Spent) -> _Spent:
        return replace(one, limit=one.limit * (1 + self.options.raise_by), is_raised=True)

    def _out_of_money(
        self, spent: list[_Spent], next_usd: float, *, is_first: bool
    ) -> CheckVerdict | None:
        """Return the verdict if the money does not cover a step and closing words; else None."""
        money = next((one for one in spent if one.unit == _USD and one.used), None)
        if money is None or not next_usd or money.used + 2 * next_usd <= money.limit:
            return None
        why = (
            f"The turn has used {money}; another step and closing words would take about "
            f"{2 * next_usd:,.2f} USD more."
        )
        if is_first and self.options.recover:
            return Recover(why)
        if money.used + next_usd > money.limit:
            # The money does not even cover closing words.
            return Halt(StopReason.BUDGET_LIMIT, f"{why} {_AGAIN}")
        return CloseOut(StopReason.BUDGET_LIMIT, f"{why} {_AGAIN}")

    def _raised(self, spent: list[_Spent]) -> str:
        words = " and ".join(
            str(replace(one, used=one.limit)).partition(" of ")[2] for one in spent
        )
        return (
            f"The budget of this turn was used up. The conversation was shortened, so the limit "
            f"is raised once, to {words}. Finish the most important thing now."
        )

    def _exhausted(self, spent: list[_Spent], *, is_first: bool) -> CheckVerdict:
        """Return the verdict at a limit: recover the first time in a turn, then close."""
        why = f"The turn has used {_words(spent, 1.0)}."
        if is_first and self.options.recover:
            return Recover(why)
        raised = any(one.is_raised for one in spent if one.share >= 1.0)
        return CloseOut(
            StopReason.BUDGET_LIMIT,
            f"{why} {'The limit had been raised once. ' if raised else ''}{_AGAIN}",
        )


class _Recovery:
    """The usage when the budget recovery began, and how much of the conversation it saved."""

    def __init__(self) -> None:
        self.begun_at: Usage | None = None
        self.saved = -1.0
        """Share of the conversation; negative if nothing was shortened."""
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


def _next_usd(view: TurnView) -> float:
    """Return the estimated cost of the next request; 0 if the model's price is not known.

    Based on the newest request, plus what was added since, or scaled down by compactions.
    """
    facts, context = view.facts, view.context_tokens
    if not (facts.input_usd or facts.output_usd):
        return 0.0
    newest = next(view.turn.events.newest(AttemptFinished), None)
    if newest is None or not newest.usage.cost_usd:
        return context * facts.input_usd / _MILLION
    answer_usd = newest.usage.output_tokens * facts.output_usd / _MILLION
    input_usd = max(newest.usage.cost_usd - answer_usd, 0.0)
    compactions = view.each_since(Compacted, AttemptFinished)
    for one in compactions:
        input_usd *= one.after_tokens / max(one.before_tokens, 1)
    if not compactions:
        grown = max(context - newest.usage.input_tokens, 0)
        input_usd += grown * facts.input_usd / _MILLION
    return input_usd + answer_usd


def _is_told(view: TurnView, text: str) -> bool:
    return any(one.text == text for one in view.each(AdvisoryRaised))


def _words(spent: list[_Spent], share: float) -> str:
    """Return, in words, the amounts that reached ``share`` of their limit."""
    return " and ".join(str(one) for one in spent if one.share >= share)
