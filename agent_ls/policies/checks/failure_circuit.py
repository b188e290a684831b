"""Do too many tool calls in a row fail?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.events import Event, RequestPrepared, ToolCallFinished
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Proceed, TextOnly
from agent_ls.loop.state.view import TurnView

_NOT_THE_MODELS = (ErrorKind.CANCELLED, ErrorKind.INTERRUPTED)


class FailureCircuitOptions(Record):
    """How many failures in a row open the circuit."""

    max_failures: int = Field(default=5, ge=0)
    """Tool calls that fail one after the other before the model must think first; 0: no limit."""


@dataclass(frozen=True, slots=True)
class FailureCircuit:
    """Sends one request without tools, so that the model thinks; the next time, closes the turn.

    Source: S0, circuit breaker over consecutive tool failures.
    """

    name: ClassVar[str] = "failure_circuit"
    options: FailureCircuitOptions = FailureCircuitOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        limit = self.options.max_failures
        circuit = view.turn.events.tallied(_Circuit)
        failures, opened = circuit.failures, circuit.has_opened
        if not limit or failures < limit:
            return Proceed()
        if opened:
            return CloseOut(
                StopReason.LOOP_DETECTED,
                f"{failures} tool calls in a row failed, for the second time in this turn. "
                "Look at what went wrong, and prompt again with what the agent needs.",
            )
        return TextOnly(
            f"The last {failures} tool calls all failed. Do not call tools now: say in a few "
            "sentences what goes wrong and why, and what you will do differently."
        )


class _Circuit:
    def __init__(self) -> None:
        self.failures = 0
        self.has_opened = False

    def see(self, event: Event) -> None:
        match event:
            case RequestPrepared(text_only=True):
                self.failures, self.has_opened = 0, True
            case ToolCallFinished(result=result):
                if result.error is None:
                    self.failures = 0
                elif result.error not in _NOT_THE_MODELS:
                    self.failures += 1
            case _:
                pass
