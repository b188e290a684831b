"""What to do when a small local model prints its tool calls as text: read them.

Owns the formats in which models print calls. Only calls at the very end of an answer count, and
only while the conversation has no real calls: a model that can make calls does not print them.
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
from agent_ls.loop.state.view import TurnView

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
    """Reads JSON, XML-like blocks or a patch at the end of an answer as calls.

    Source: local models without call support, and servers that do not parse calls.
    """

    name: ClassVar[str] = "printed_calls"
    options: PrintedCallsOptions = PrintedCallsOptions()

    async def judge(self, attempt: Attempt, view: TurnView) -> RecoveryVerdict:
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
    """Return the text before the calls, and the calls; None if the text does not end in calls.

    Invariant: linear in the text's length, whatever a model prints.
    """
    body = text[: _end_before(_END_MARKS, text)]
    if not body or len(body) > _MAX_CHARS:
        return None
    for blocks_in, read, wrapping in _FORMS:
        blocks = list(blocks_in(body))
        # With text after the blocks they are part of an explanation.
        if not blocks or body[blocks[-1].end :].strip() not in ("", wrapping):
            continue
        found = [tuple(read(block)) for block in blocks]
        calls = tuple(call for one in found for call in one)
        if all(found) and len(calls) <= _MAX_CALLS:
            return body[: _end_before(_BEGIN_MARKS, body, blocks[0].begin)], calls
    return None


def _end_before(marks: tuple[str, ...], text: str, end: int | None = None) -> int:
    """Return where the text ends without its trailing marks and blanks."""
    end = len(text) if end is None else end
    while True:
        while end and text[end - 1].isspace():
            end -= 1
        mark = next((one for one in marks if text.endswith(one, 0, end)), None)
        if mark is None:
            return end
        end -= len(mark)


@dataclass(frozen=True, slots=True)
class _Block:
    begin: int
    end: int
    inner: str
    name: str = ""
    """The tool's name, if the tag has it."""


@dataclass(frozen=True, slots=True)
class _Tagged:
    """Finds blocks between an opening and the first closing after it."""

    opening: re.Pattern[str]
    """Its group ``name``, if any, names the block."""
    closing: re.Pattern[str]
    """Its group ``last``, if any, still belongs to the inner text."""

    def __call__(self, body: str) -> Iterator[_Block]:
        at = 0
        while opened := self.opening.search(body, at):
            closed = self.closing.search(body, opened.end())
            if closed is None:
                # No closing follows, so later openings have none either.
                return
            groups = {**opened.groupdict(), **closed.groupdict()}
            inner = body[opened.end() : closed.start()] + groups.get("last", "")
            yield _Block(opened.start(), closed.end(), inner, groups.get("name", ""))
            at = closed.end()


def _marked(body: str) -> Iterator[_Block]:
    """Yield the text between the first mark and the last bracket."""
    end = max(body.rfind("]"), body.rfind("}")) + 1
    if (mark := _MARK.search(body)) and mark.end() < end:
        yield _Block(mark.start(), end, body[mark.end() : end])


def _bare(body: str) -> Iterator[_Block]:
    if not body.endswith(("]", "}")):
        return
    begin, is_paragraph = 0, True
    for line in body.splitlines(keepends=True):
        if is_paragraph and line.lstrip().startswith(("[", "{")):
            yield _Block(begin, len(body), body[begin:])
            return
        is_paragraph = not line.strip()
        begin += len(line)


def _from_json(block: _Block) -> Iterator[Printed]:
    """Yield the calls of an object or a list in JSON; none if any of them is no call."""
    try:
        data: Any = json.loads(block.inner)
    except (ValueError, RecursionError):
        return
    items = cast("list[Any]", data) if isinstance(data, list) else [data]
    calls = [_from_object(one) for one in items]
    yield from (one for one in calls if one is not None and None not in calls)


def _from_object(data: object) -> Printed | None:
    """Return the call that an object describes in one of the usual formats; None for none."""
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


def _from_patch(block: _Block) -> Iterator[Printed]:
    yield "apply_patch", json.dumps({"patch": block.inner})


def _from_function(block: _Block) -> Iterator[Printed]:
    """Yield the call of a tag that names its tool and holds JSON or a tag per parameter."""
    inner = block.inner.strip()
    if inner.startswith("{"):
        yield block.name, inner
        return
    arguments: dict[str, object] = {}
    at = 0
    for one in _PARAMETERS(inner):
        if inner[at : one.begin].strip():
            return
        arguments[one.name] = _value(one.inner)
        at = one.end
    if not inner[at:].strip():
        yield block.name, json.dumps(arguments)


def _value(text: str) -> object:
    """Return a parameter's value: lists and objects parsed, anything else as text."""
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    # The line ends beside the tags belong to the tags.
    return text.removeprefix("\n").removesuffix("\n")


_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input")
_END_MARKS = (
    "</function_calls>", "</tool_calls>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "</s>",
)  # fmt: skip
_BEGIN_MARKS = ("<function_calls>", "<tool_calls>", "<tool_call>")
_MARK = re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>)\s*(?=[\[{])")
_NAME = r"(?P<name>[\w./-]+)"
_PARAMETERS = _Tagged(
    re.compile(rf"<parameter(?:=| name=\"){_NAME}\"?>"), re.compile("</parameter>")
)
_BlocksIn = Callable[[str], Iterator[_Block]]
_Read = Callable[[_Block], Iterator[Printed]]
_FORMS: tuple[tuple[_BlocksIn, _Read, str], ...] = (
    (
        _Tagged(re.compile(rf"<function={_NAME}>"), re.compile("</function>")),
        _from_function,
        "</tool_call>",
    ),
    (
        _Tagged(re.compile(rf"<invoke name=\"{_NAME}\">"), re.compile("</invoke>")),
        _from_function,
        "",
    ),
    (
        _Tagged(
            re.compile(r"<tool_call>\s*(?=[\[{])"),
            re.compile(r"(?P<last>[\]}])\s*(?:</tool_call>|\Z)"),
        ),
        _from_json,
        "",
    ),
    (
        _Tagged(
            re.compile(r"^```(?:json|tool_call|tool_code|tool)?[ \t]*\n(?=[\[{])", re.MULTILINE),
            re.compile(r"(?P<last>[\]}])\s*\n```"),
        ),
        _from_json,
        "",
    ),
    (
        _Tagged(
            re.compile(r"^(?:```\w*[ \t]*\n)?(?=\*\*\* Begin Patch$)", re.MULTILINE),
            re.compile(r"(?P<last>^\*\*\* End Patch)(?:\n```)?$", re.MULTILINE),
        ),
        _from_patch,
        "",
    ),
    (_marked, _from_json, ""),
    (_bare, _from_json, ""),
)
"""For each format: how to find the blocks, how to read one, and what may follow the last.

The first format that fits the end of the answer counts.
"""
