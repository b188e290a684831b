"""Does step after step fail in the same way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.events import Answered, ToolCallFinished
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Escalate, Proceed
from agent_ls.loop.fingerprints import calls_of, error_signature
from agent_ls.loop.view import TurnView

_NOT_THE_MODELS = (ErrorKind.CANCELLED, ErrorKind.INTERRUPTED)
_MAX_QUOTED_CHARS = 120


class SameErrorOptions(Record):
    """When the same error is once too often."""

    max_repeats: int = Field(default=3, ge=0)
    """Steps in a row with the same error before the person is asked; 0: never."""


@dataclass(frozen=True, slots=True)
class SameError:
    """Asks the person whether to go on when steps in a row bring the same error.

    Errors are compared by their class, or by their words without names and numbers.
    Source: seed 004, loop detection over normalised error signatures.
    """

    name: ClassVar[str] = "same_error"
    options: SameErrorOptions = SameErrorOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        """Answer from the errors of the newest steps since the person was last asked."""
        limit = self.options.max_repeats
        steps = _errors_by_step(view, self.name)[-limit:] if limit else []
        if not limit or len(steps) < limit or view.is_silenced(self.name):
            return Proceed()
        shared = set(steps[0]).intersection(*steps[1:])
        if not shared:
            return Proceed()
        text = next(steps[-1][one] for one in steps[-1] if one in shared)
        return Escalate(
            f"The last {limit} steps failed with the same error: “{text}” Go on?",
            StopReason.LOOP_DETECTED,
        )


def _errors_by_step(view: TurnView, origin: str) -> list[dict[str, str]]:
    """Return, for each step since then, its errors' signatures with their first lines."""
    calls = calls_of(view.each(Answered))
    steps: list[dict[str, str]] = []
    for stored in view.since_answer_to(origin):
        match stored.event:
            case Answered():
                steps.append({})
            case ToolCallFinished(result=result) if result.error and steps:
                call = calls.get(result.call_id)
                if call is None or result.error in _NOT_THE_MODELS:
                    continue
                signature = error_signature(call.tool, result.error, result.text)
                line = " ".join(result.text.strip().partition("\n")[0].split())
                steps[-1][signature] = line.removeprefix("error: ")[:_MAX_QUOTED_CHARS]
            case _:
                pass
    return steps
