"""Was the turn cancelled?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.events import CancelRequested
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Halt, Proceed
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Ends the turn at once, without another model request.

    Source: S0 phase 1 (cancellation tokens), S2 safety nets (user interrupt).
    """

    name: ClassVar[str] = "cancelled"

    async def check(self, view: TurnView) -> CheckVerdict:
        for request in view.each(CancelRequested):
            return Halt(StopReason.CANCELLED, f"Stopped by {request.by}.")
        return Proceed()
