"""Does step after step fail in the same way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import (
    Answered,
    Event,
    QuestionAsked,
    QuestionResolved,
    ToolCallFinished,
)
from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Escalate, Proceed
from agent_ls.loop.fingerprints import error_signature
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
        steps = view.turn.events.tallied(_Errors).by_step[-limit:] if limit else []
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


class _Errors:
    """For each step since the person was last asked: its errors' signatures, with first lines."""

    def __init__(self) -> None:
        self.by_step: list[dict[str, str]] = []
        self._calls: dict[str, ToolCall] = {}
        self._asked: set[str] = set()

    def see(self, event: Event) -> None:
        match event:
            case QuestionAsked(question=question) if question.origin == SameError.name:
                self._asked.add(question.id)
            case QuestionResolved(question_id=name, answer=answer) if name in self._asked:
                # A question that nobody answered, or that a restart took back, is still open.
                if answer.is_answered:
                    self.by_step.clear()
            case Answered(message=message):
                self.by_step.append({})
                self._calls.update((call.id, call) for call in message.calls)
            case ToolCallFinished(result=result) if result.error and self.by_step:
                self._failed(result, result.error)
            case _:
                pass

    def _failed(self, result: ToolResult, error: ErrorKind) -> None:
        call = self._calls.get(result.call_id)
        if call is None or error in _NOT_THE_MODELS:
            return
        signature = error_signature(call.tool, error, result.text)
        line = " ".join(result.text.strip().partition("\n")[0].split()).removeprefix("error: ")
        is_cut = len(line) > _MAX_QUOTED_CHARS
        self.by_step[-1][signature] = f"{line[:_MAX_QUOTED_CHARS]}{'…' if is_cut else ''}"
