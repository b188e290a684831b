"""The result of a turn, as ``--json`` prints it."""

from __future__ import annotations

from pydantic import field_serializer

from agent_ls.domain.code_review import CodeFinding
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage


class Refusal(Record):
    """A call that did not run, because nobody could approve it."""

    tool: str
    target: str
    """The command or file that the call was about, in one line."""
    reason: str
    every_mode: bool = False
    """The call needs approval in every mode; otherwise a freer mode would allow it."""


class TurnResult(Record):
    """The result of an ended turn."""

    session_id: str
    turn_id: str
    success: bool
    status: TurnStatus
    stop_reason: StopReason
    failure_reason: str
    open_tasks: tuple[str, ...]
    output: str
    findings: tuple[CodeFinding, ...] | None = None
    """Of a review of code, which ``output`` tells in words; null: there is no review."""
    model: str
    steps: int
    tool_calls: int
    usage: Usage
    """Tokens and cost of the turn, sub-agents and side models included."""
    cost_usd: float | None
    """None when the price is unknown."""
    duration_ms: int
    files: tuple[str, ...]
    """Files whose text the turn changed, sorted; none in a dry run."""
    refused: tuple[Refusal, ...] = ()
    """Calls that nobody could approve, in order; any of them rules out success."""
    simulated: tuple[str, ...] = ()
    """Effects that a dry run only simulated, in order."""

    @field_serializer("usage")
    def _told(self, usage: Usage) -> dict[str, int | float | None]:
        return usage.as_dict()
