"""Which failures of this turn should the model not repeat?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.events import Answered, Event, ToolCallFinished
from agent_ls.domain.failure_kinds import FailureKind, failure_kind
from agent_ls.domain.plain_json import object_in
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import one_line
from agent_ls.domain.verdicts import Slot
from agent_ls.loop.evidence.fingerprints import UNKNOWN_TOOL, error_signature
from agent_ls.loop.state.view import TurnView

_MAX_WORDS_CHARS = 160
_MAX_TARGET_CHARS = 80
_TARGETS = ("path", "command", "pattern", "query", "url")
"""Arguments that say what a call was about, the most telling first."""

_SUGGESTIONS: dict[FailureKind, str] = {
    FailureKind.PERMISSION: "It is not allowed: use what is, or tell the user what you need.",
    FailureKind.NOT_FOUND: "Search for the right name before you use one.",
    FailureKind.SYNTAX: "Read the lines around the place, and write the whole construct anew.",
    FailureKind.TYPE: "Look up how the name is declared before you use it.",
    FailureKind.RUNTIME: "Find the cause in the last lines of the error before you run it again.",
    FailureKind.NETWORK: "Do without the network if you can; it may not be there.",
    FailureKind.TIMEOUT: "Ask for less at once: one file, one test, a narrower search.",
    FailureKind.VALIDATION: "Read the tool's schema, and give exactly those arguments.",
    FailureKind.LOGIC: "Compare what was expected with what came; mend the code, not the test.",
    FailureKind.RESOURCE: "The machine has no more of it: use less, or tell the user.",
    FailureKind.UNKNOWN: "Look at it from another side before you try again.",
}


class FailureEvidenceOptions(Record):
    """From when on, and of how many failures, the model is reminded."""

    min_failures: int = Field(default=2, ge=1)
    """With fewer failures there is no reminder, since the model still sees them."""
    max_age_steps: int = Field(default=8, ge=1)
    """A failure that has not come again for so many steps is left out."""
    max_kept: int = Field(default=50, ge=1)
    """Older ones are forgotten."""
    max_shown: int = Field(default=5, ge=0)
    """The newest ones; 0: none."""
    max_tokens: int = Field(default=400, ge=0)
    """Size of the reminder."""


@dataclass(frozen=True, slots=True)
class _Failure:
    call: ToolCall
    about: str
    result: ToolResult
    step: int
    times: int = 1

    @property
    def kind(self) -> FailureKind:
        return failure_kind(self.result.error, self.result.text)


@dataclass(frozen=True, slots=True)
class FailureEvidence:
    """Lists the newest failures with one suggestion for each kind.

    A failure is settled, and dropped, once the same tool succeeds on the same target. Source: seed
    000, failure evidence (Trick S).
    """

    name: ClassVar[str] = "failure_evidence"
    options: FailureEvidenceOptions = FailureEvidenceOptions()

    async def propose(self, view: TurnView) -> Slot | None:
        failures = _failures(view, self.options)
        count = sum(one.times for one in failures)
        if count < self.options.min_failures or not self.options.max_shown:
            return None
        lines = ["What has failed so far and is not settled; do not repeat it the same way:"]
        suggested: set[FailureKind] = set()
        # The newest first, because the end may be cut.
        for one in reversed(failures[-self.options.max_shown :]):
            times = f" ({one.times} times)" if one.times > 1 else ""
            about = f" {one.about}" if one.about else ""
            lines.append(f"- {one.call.tool}{about}{times}, {one.kind}: {_first_words(one.result)}")
            if one.kind not in suggested:
                lines.append(f"  {_SUGGESTIONS[one.kind]}")
                suggested.add(one.kind)
        return Slot(self.name, 2, self.options.max_tokens, "\n".join(lines))


def _failures(view: TurnView, options: FailureEvidenceOptions) -> list[_Failure]:
    """Return the recent unsettled failures, oldest first; equal ones are counted together."""
    evidence = view.turn.events.tallied(_Evidence)
    found = evidence.failures.values()
    young = [one for one in found if evidence.step - one.step < options.max_age_steps]
    return young[-options.max_kept :]


class _Evidence:
    def __init__(self) -> None:
        self.step = 0
        self.failures: dict[tuple[str, str, str], _Failure] = {}
        self._calls: dict[str, ToolCall] = {}

    def see(self, event: Event) -> None:
        match event:
            case Answered(message=message):
                self.step += 1
                self._calls.update((call.id, call) for call in message.calls)
            case ToolCallFinished(result=result) if result.call_id in self._calls:
                _take(self.failures, self._calls[result.call_id], result, self.step)
            case _:
                pass


def _take(
    found: dict[tuple[str, str, str], _Failure], call: ToolCall, result: ToolResult, step: int
) -> None:
    """Add the failure, or drop the failures that this success settles."""
    about = _target(call)
    if not _has_failed(result):
        for key in [key for key in found if key[:2] == (call.tool, about)]:
            del found[key]
        return
    if result.error is ErrorKind.CANCELLED or _is_unknown_tool(call, result):
        return
    key = (call.tool, about, _first_words(result))
    earlier = found.pop(key, None)
    one = _Failure(call, about, result, step)
    found[key] = replace(one, times=earlier.times + 1) if earlier else one


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
    named = object_in(call.arguments_json)
    found = (named[name] for name in _TARGETS if isinstance(named.get(name), str))
    return one_line(str(next(found, "")), _MAX_TARGET_CHARS)


def _first_words(result: ToolResult) -> str:
    """Return an error's first line, or the first and last line of a command's output."""
    lines = [line for line in result.text.splitlines() if line.strip()] or ["no words"]
    is_output = result.error is None and len(lines) > 1
    return one_line(f"{lines[0]} … {lines[-1]}" if is_output else lines[0], _MAX_WORDS_CHARS)
