"""Has the turn reached its time limit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.record import Record, Trust
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed
from agent_ls.loop.state.view import TurnView


class WallClockOptions(Record):
    """How long a turn may run."""

    limit_s: Annotated[float, Trust.LOWER] = Field(default=0.0, ge=0)
    """Seconds since the turn began or was resumed, waiting for people included, and with `run`
    the time it takes to load; 0: no limit."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """Closes the turn at its time limit. Source: S2 and S4, total timeout."""

    name: ClassVar[str] = "wall_clock"
    options: WallClockOptions = WallClockOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        limit = self.options.limit_s
        if limit and view.elapsed_s >= limit:
            return CloseOut(
                StopReason.TIMEOUT,
                f"The turn ran for {view.elapsed_s:.0f} s of the {limit:.0f} s it may take. "
                "Prompt again to go on, or raise policies.wall_clock.limit_s in the settings "
                "(--timeout of `agent-ls run`).",
            )
        return Proceed()
