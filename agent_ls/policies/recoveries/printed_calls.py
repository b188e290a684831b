"""What to do when a small local model prints its tool calls as text: read them.

Owns the ways in which models print calls. Only calls at the very end of an answer count, and only
while the conversation has no real ones: a model that can call would not print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Accept, RecoveryVerdict, TakeCalls
from agent_ls.loop.sockets import Attempt
from agent_ls.loop.view import TurnView

Printed = tuple[str, str]
"""A tool's name and its arguments as JSON."""

_MAX_CHARS = 200_000
_MAX_CALLS = 25


class PrintedCallsOptions(Record):
    """Whether text is looked through for calls."""

    enabled: bool = True
    """Read calls that a model printed instead of making them."""


@dataclass(frozen=True, slots=True)
class PrintedCalls:
    """Takes JSON or XML-like blocks at the end of an answer for calls, when they fit their tools.

    Source: local models without call support, and servers that do not parse it.
    """

    name: ClassVar[str] = "printed_calls"
    options: PrintedCallsOptions = PrintedCallsOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
        """Answer from the attempt's text; the machine holds what is found against the tools."""
        is_plain = attempt.error is None and not attempt.calls and not attempt.cut_calls
        if not self.options.enabled or not is_plain or attempt.finish is FinishReason.LENGTH:
            return Accept()
        if view.turn.text_only or _calls_for_real(view):
            return Accept()
        found = printed_calls(attempt.text)
        return Accept() if found is None else TakeCalls(calls=found[1], text=found[0])


def _calls_for_real(view: TurnView) -> bool:
    return any(
        not call.provider_id.startswith(TakeCalls.provider_id)
        for message in view.messages
        if message.role == "assistant"
        for call in message.calls
    )


def printed_calls(text: str) -> tuple[str, tuple[Printed, ...]] | None:
    """Return the text before the calls, and the calls; None when it does not end in any."""
    body = _END_MARKS.sub("", text.rstrip())
    if not body or len(body) > _MAX_CHARS:
        return None
    for pattern, read in _FORMS:
        blocks = list(pattern.finditer(body))
        # Whatever stands between or after the blocks makes them part of an explanation.
        if not blocks or body[blocks[-1].end() :].strip():
            continue
        calls = [call for block in blocks for call in read(block)]
        is_whole = all(any(True for _ in read(block)) for block in blocks)
        if is_whole and len(calls) <= _MAX_CALLS:
            return _BEGIN_MARKS.sub("", body[: blocks[0].start()]).rstrip(), tuple(calls)
    return None


def _from_json(block: re.Match[str]) -> Iterator[Printed]:
    """Yield the calls that a block's JSON is: one object, or a list of them; nothing if neither."""
    try:
        data: Any = json.loads(block["json"])
    except (ValueError, RecursionError):
        return
    items = cast("list[Any]", data) if isinstance(data, list) else [data]
    calls = [_from_object(one) for one in items]
    yield from (one for one in calls if one is not None and None not in calls)


def _from_object(data: object) -> Printed | None:
    """Return the call that an object describes, in any of the usual ways."""
    if not isinstance(data, dict):
        return None
    fields = cast("dict[str, Any]", data)
    if isinstance(fields.get("function"), dict):
        fields = cast("dict[str, Any]", fields["function"])
    names = [fields[key] for key in _NAME_KEYS if isinstance(fields.get(key), str)]
    values = [fields[key] for key in _ARGUMENT_KEYS if key in fields]
    if not names or len(values) > 1:
        return None
    arguments: object = values[0] if values else {}
    if isinstance(arguments, str):
        return names[0], arguments
    return (names[0], json.dumps(arguments)) if isinstance(arguments, dict) else None


def _from_function(block: re.Match[str]) -> Iterator[Printed]:
    """Yield the call of a tag that names its tool: JSON inside, or one tag for each parameter."""
    inner = block["inner"].strip()
    if inner.startswith("{"):
        yield block["name"], inner
        return
    parameters = list(_PARAMETER.finditer(inner))
    if not _PARAMETER.sub("", inner).strip():
        yield block["name"], json.dumps({one["key"]: _value(one["value"]) for one in parameters})


def _value(text: str) -> object:
    """Return a parameter's value: lists and objects as such, everything else as its text."""
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError:
            return text
    # The line ends beside the tags belong to the tags.
    return text.removeprefix("\n").removesuffix("\n")


_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_END_MARKS = re.compile(
    r"(?:\s*(?:</function_calls>|</tool_calls>|<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|</s>))+$"
)
_BEGIN_MARKS = re.compile(r"(?:<function_calls>|<tool_calls>|<tool_call>)\s*$")
_PARAMETER = re.compile(
    r"\s*<parameter(?:=| name=\")(?P<key>[\w.-]+)\"?>"
    r"(?P<value>.*?)</parameter>\s*",
    re.DOTALL,
)
_NAME = r"[\w./-]+"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Printed]]], ...] = (
    (
        re.compile(
            rf"(?:<tool_call>\s*)?<function=(?P<name>{_NAME})>(?P<inner>.*?)</function>"
            r"(?:\s*</tool_call>)?",
            re.DOTALL,
        ),
        _from_function,
    ),
    (
        re.compile(rf"<invoke name=\"(?P<name>{_NAME})\">(?P<inner>.*?)</invoke>", re.DOTALL),
        _from_function,
    ),
    (
        re.compile(r"<tool_call>\s*(?P<json>[\[{].*?[\]}])\s*(?:</tool_call>|\Z)", re.DOTALL),
        _from_json,
    ),
    (
        re.compile(
            r"^```(?:json|tool_call|tool_code|tool)?[ \t]*\n(?P<json>[\[{].*?[\]}])\s*\n```",
            re.DOTALL | re.MULTILINE,
        ),
        _from_json,
    ),
    (
        re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?P<json>[\[{].*[\]}])", re.DOTALL),
        _from_json,
    ),
    (re.compile(r"(?:\A|\n[ \t]*\n)\s*(?P<json>[\[{].*[\]}])\s*\Z", re.DOTALL), _from_json),
)
"""How calls are printed, with what reads one block; the first form that fits the end counts."""
