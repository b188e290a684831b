"""Has the turn or the session made all the calls it may?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from agent_ls.domain.events import ToolCallFinished
from agent_ls.domain.record import Record, Trust
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed
from agent_ls.loop.state.view import TurnView


class CallLimitOptions(Record):
    """How many calls a turn and a session may make. Each has its own limit of output."""

    max_calls: Annotated[int, Trust.LOWER] = Field(default=500, ge=0)
    """Calls of one turn, refused ones included; 0: no limit."""
    max_session_calls: Annotated[int, Trust.LOWER] = Field(default=20_000, ge=0)
    """Calls of all turns of a session; 0: no limit."""


@dataclass(frozen=True, slots=True)
class CallLimit:
    """Closes the turn at a limit of calls: a few steps can hold very many."""

    name: ClassVar[str] = "call_limit"
    options: CallLimitOptions = CallLimitOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        calls = len(view.turn.events.of(ToolCallFinished))
        in_all = calls + view.session.earlier_results
        if 0 < self.options.max_calls <= calls:
            return _closed(f"The turn made {calls} calls.", "Prompt again to go on", "max_calls")
        if 0 < self.options.max_session_calls <= in_all:
            why = f"The session made {in_all} calls."
            return _closed(why, "Start a new session", "max_session_calls")
        return Proceed()


def _closed(why: str, advice: str, option: str) -> CloseOut:
    return CloseOut(
        StopReason.RESOURCE_LIMIT,
        f"{why} {advice}, or raise policies.call_limit.{option} in the settings.",
    )
