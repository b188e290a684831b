"""What a turn came to, as ``--json`` prints it."""

from __future__ import annotations

from pydantic import field_serializer

from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage


class Refusal(Record):
    """One call that did not run, because nobody was there to be asked."""

    tool: str
    target: str
    """The command, the file, or whatever else names what it was about, in one line."""
    reason: str
    every_mode: bool = False
    """It asks in every mode; otherwise a freer mode would have let it run."""


class TurnResult(Record):
    """One ended turn."""

    session_id: str
    turn_id: str
    success: bool
    status: TurnStatus
    stop_reason: StopReason
    failure_reason: str
    open_tasks: tuple[str, ...]
    output: str
    model: str
    steps: int
    tool_calls: int
    usage: Usage
    cost_usd: float | None
    """None where no price is known."""
    duration_s: float
    files: tuple[str, ...]
    """Files whose text the turn changed, sorted; none in a dry run."""
    refused: tuple[Refusal, ...] = ()
    """Calls that nobody was there to allow, in order; with any of them nothing is a success."""
    simulated: tuple[str, ...] = ()
    """What a dry run left out, in order."""

    @field_serializer("usage")
    def _told(self, usage: Usage) -> dict[str, float | None]:
        return usage.told()
