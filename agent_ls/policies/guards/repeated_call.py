"""Has exactly this call been made too often?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.evidence.fingerprints import calls_in_vain, fingerprint
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.state.view import TurnView


class RepeatedCallOptions(Record):
    """From when on a repeated call is not carried out any more."""

    refuse_at: int = Field(default=6, ge=0)
    """Which of the equal calls is the first to be refused; 0: none is."""
    window_calls: int = Field(default=10, ge=1)
    """The calls that are looked at, the newest ones."""


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """Denies a call that was made too often while nothing changed.

    Source: S0, doom loop escalation; the check ``repetition`` warns before.
    """

    name: ClassVar[str] = "repeated_call"
    options: RepeatedCallOptions = RepeatedCallOptions()

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        limit = self.options.refuse_at
        if not limit or view.is_silenced(self.name):
            return Allow()
        mark = fingerprint(planned.call.tool, planned.call.arguments_json)
        before: list[str] = []
        for call_id, other in calls_in_vain(view):
            if call_id == planned.call.id:
                break
            before.append(other)
        count = before[-self.options.window_calls + 1 :].count(mark) + 1
        if count < limit:
            return Allow()
        return Deny(
            f"You have made exactly this call {count - 1} times and nothing changed in between, so "
            "it was not carried out again: its result would be the one you have. "
            "Take another way, or finish and say what blocks you."
        )
