"""Which calls of this turn failed, and were not made good since?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import Answered, Event, ToolCallFinished
from agent_ls.domain.failure_kinds import FailureKind, failure_kind
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.domain.sentences import one_line
from agent_ls.loop.evidence.fingerprints import UNKNOWN_TOOL, error_signature

_MAX_WORDS_CHARS = 160
_MAX_TARGET_CHARS = 80
_TARGETS = ("path", "command", "pattern", "query", "url")
"""Arguments that say what a call was about, the most telling first."""


@dataclass(frozen=True, slots=True)
class UnsettledFailure:
    """A call that failed, ``times`` times alike, the last time in ``step``."""

    tool: str
    about: str
    words: str
    kind: FailureKind
    step: int
    times: int = 1

    def __str__(self) -> str:
        about = f" {self.about}" if self.about else ""
        times = f" ({self.times} times)" if self.times > 1 else ""
        return f"{self.tool}{about}{times}, {self.kind}: {self.words}"


class UnsettledFailures:
    """A tally: a failure is settled once the same tool succeeds on the same target."""

    def __init__(self) -> None:
        self.step = 0
        self._found: dict[tuple[str, str, str], UnsettledFailure] = {}
        self._calls: dict[str, ToolCall] = {}

    def see(self, event: Event) -> None:
        """Count this event."""
        match event:
            case Answered(message=message):
                self.step += 1
                self._calls.update((call.id, call) for call in message.calls)
            case ToolCallFinished(result=result) if result.call_id in self._calls:
                self._take(self._calls[result.call_id], result)
            case _:
                pass

    def of_last(self, steps: int) -> list[UnsettledFailure]:
        """Return those that came in the last ``steps``, the oldest first."""
        return [one for one in self._found.values() if self.step - one.step < steps]

    def _take(self, call: ToolCall, result: ToolResult) -> None:
        about = _target(call)
        if not _has_failed(result):
            for key in [key for key in self._found if key[:2] == (call.tool, about)]:
                del self._found[key]
            return
        if result.error is ErrorKind.CANCELLED or _is_unknown_tool(call, result):
            return
        words, kind = _first_words(result), failure_kind(result.error, result.text)
        failure = UnsettledFailure(call.tool, about, words, kind, self.step)
        earlier = self._found.pop((call.tool, about, words), None)
        times = earlier.times + 1 if earlier else 1
        self._found[call.tool, about, words] = replace(failure, times=times)


def _is_unknown_tool(call: ToolCall, result: ToolResult) -> bool:
    """Say whether the call named a tool that does not exist; its result lists the tools."""
    if result.error is not ErrorKind.STRUCTURAL:
        return False
    return error_signature(call.tool, result.error, result.text) == UNKNOWN_TOOL


def _has_failed(result: ToolResult) -> bool:
    if result.error is not None:
        return True
    match result.data:
        case {"exit_code": int(code)}:
            return code != 0
        case _:
            return False


def _target(call: ToolCall) -> str:
    named = parse_arguments(call.arguments_json)
    found = (named[name] for name in _TARGETS if isinstance(named.get(name), str))
    return one_line(str(next(found, "")), _MAX_TARGET_CHARS)


def _first_words(result: ToolResult) -> str:
    """Return an error's first line, or the first and last line of a command's output."""
    lines = [line for line in result.text.splitlines() if line.strip()] or ["no words"]
    is_output = result.error is None and len(lines) > 1
    return one_line(f"{lines[0]} … {lines[-1]}" if is_output else lines[0], _MAX_WORDS_CHARS)
