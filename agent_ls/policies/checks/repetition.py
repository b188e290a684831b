"""Does the model make the same call again and again?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.events import AdvisoryRaised, Answered
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import CheckVerdict, Nudge, Proceed
from agent_ls.loop.evidence.fingerprints import calls_in_vain, calls_of, shown_call
from agent_ls.loop.state.view import TurnView


class RepetitionOptions(Record):
    """When a call counts as repeated."""

    window_calls: int = Field(default=10, ge=1)
    """The calls that are looked at, the newest ones."""
    nudge_at: int = Field(default=3, ge=0)
    """Equal calls among them from which the model is told; 0: never."""
    warn_at: int = Field(default=4, ge=0)
    """Equal calls from which each further one is warned about; 0: never."""
    last_warning_at: int = Field(default=5, ge=0)
    """Equal calls after which nothing is said any more: then they are refused."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """Nudges a model that repeats a call while nothing changes, then warns it.

    The guard ``repeated_call`` then denies the call. Source: S0, doom loop detection.
    """

    name: ClassVar[str] = "repetition"
    options: RepetitionOptions = RepetitionOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        window = calls_in_vain(view)[-self.options.window_calls :]
        if not window or view.is_silenced(self.name):
            return Proceed()
        counts = Counter(mark for _, mark in window)
        newest = calls_of(islice(view.turn.events.newest(Answered), 1))
        repeated = [one for one in window if one[0] in newest]
        if not repeated:
            return Proceed()
        call_id, mark = max(repeated, key=lambda one: counts[one[1]])
        text = self._text(shown_call(newest[call_id]), counts[mark])
        if not text or any(one.text == text for one in _told_since_change(view, window)):
            return Proceed()
        return Nudge(text, priority=1)

    def _text(self, call: str, count: int) -> str:
        options = self.options
        if count > options.last_warning_at:
            return ""
        if options.warn_at and count >= options.warn_at:
            return (
                f"Warning: you have made the call {call} {count} times and nothing changed in "
                "between. You are going round in circles. Stop repeating it: take another way, "
                "say what blocks you, or finish. Soon it will not be carried out any more."
            )
        if options.nudge_at and count >= options.nudge_at:
            return (
                f"You have made the call {call} {count} times and nothing changed in between, so "
                "its result is the same. Use the result you have, or do something else."
            )
        return ""


def _told_since_change(view: TurnView, window: tuple[tuple[str, str], ...]) -> list[AdvisoryRaised]:
    """Return the advisories raised since the first call of the window, newest first."""
    first = window[0][0]
    told: list[AdvisoryRaised] = []
    for stored in reversed(view.turn.events):
        event = stored.event
        if isinstance(event, AdvisoryRaised):
            told.append(event)
        elif isinstance(event, Answered) and first in calls_of([event]):
            break
    return told
