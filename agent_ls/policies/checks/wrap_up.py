"""Was the turn asked to finish early?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.events import WrapUpRequested
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class WrapUp:
    """Closes the turn with one last answer; open plan items make it partial.

    Source: S0, wrap-up request and grace period of sub-agents.
    """

    name: ClassVar[str] = "wrap_up"

    async def check(self, view: TurnView) -> CheckVerdict:
        for request in view.each(WrapUpRequested):
            stop = StopReason.OPEN_TASKS if view.open_tasks else StopReason.COMPLETED
            return CloseOut(stop, f"Asked to finish by {request.by}.")
        return Proceed()
