"""Do several steps in a row fail with the same error?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import Answered, Event, ToolCallFinished
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import one_line
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, Escalate, Proceed
from agent_ls.loop.evidence.fingerprints import error_signature, fingerprint, paths_in
from agent_ls.loop.evidence.progress_signals import Known, is_news
from agent_ls.loop.state.view import TurnView

_NOT_THE_MODELS = (ErrorKind.CANCELLED, ErrorKind.INTERRUPTED)
_MAX_QUOTED_CHARS = 120


class SameErrorOptions(Record):
    """When the same error is once too often."""

    max_repeats: int = Field(default=3, ge=0)
    """Steps in a row with the same error and no news before the user is asked; 0: never."""


@dataclass(frozen=True, slots=True)
class SameError:
    """Asks the user whether to go on when several steps in a row bring the same error.

    Errors are compared by their class and the call's paths, or by their words without numbers.
    Any news in between resets the count. ``loop/calls/denials.py`` counts denied calls.

    Source: S4, loop detection over normalised error signatures.
    """

    name: ClassVar[str] = "same_error"
    options: SameErrorOptions = SameErrorOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
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
    """The errors of each step since the last news: first lines by signature."""

    def __init__(self) -> None:
        self.by_step: list[dict[str, str]] = []
        self._calls: dict[str, ToolCall] = {}
        self._failures: dict[str, tuple[str, str]] = {}
        """Signature and first line of a call's last failure, by the call's fingerprint."""
        self._known = Known()

    def see(self, event: Event) -> None:
        if is_news(event):
            self.by_step.clear()
        match event:
            case Answered(message=message):
                self.by_step.append({})
                self._calls.update((call.id, call) for call in message.calls)
            case ToolCallFinished(result=result):
                self._finished(event, self._calls.get(result.call_id))
            case _:
                pass

    def _finished(self, event: ToolCallFinished, call: ToolCall | None) -> None:
        mark = fingerprint(call.tool, call.arguments_json) if call else ""
        if self._known.is_new(event, mark):
            # News also voids the other errors of this step.
            self.by_step.clear()
        elif call and event.result.error and self.by_step:
            self._failed(call, mark, event.result, event.result.error)

    def _failed(self, call: ToolCall, mark: str, result: ToolResult, error: ErrorKind) -> None:
        if error in _NOT_THE_MODELS:
            return
        if error is not ErrorKind.DENIED:
            paths = paths_in(call.arguments_json)
            signature = error_signature(call.tool, error, result.text, paths)
            self._failures[mark] = signature, _first_line(result.text)
        elif mark not in self._failures:
            return
        # A call that was denied because it failed before counts as that failure.
        signature, line = self._failures[mark]
        self.by_step[-1][signature] = line


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0].removeprefix("error: ")
    return one_line(line, _MAX_QUOTED_CHARS)
