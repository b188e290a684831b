"""Resolves references between calls of one answer, and tells which call waits for which.

Everything is derived from the calls as written and from stored events, so a resumed turn waits for
the same calls. Source: S1, call orchestration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from pydantic import JsonValue

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult, is_server_tool
from agent_ls.domain.events import OutputMethod, OutputStored
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.loop.state.expressions import (
    DAGGER,
    Destination,
    Expression,
    Path,
    parse_expression,
    parse_output,
    shown,
)
from agent_ls.loop.state.outputs import CUT, MISSING, OUTCOMES, value_at, value_of

_DESTINATION = frozenset({"output_path", "output_method"})
"""Arguments that every tool accepts but no tool sees; a tool server may have its own."""
_METHODS: tuple[str, ...] = get_args(OutputMethod)
_CALL = frozenset({"tool", "arguments"})
"""Keys of a call nested in a plan; its references are resolved when it runs."""
_TOO_LONG = "can be handed on; take it in parts"


@dataclass(frozen=True, slots=True)
class Found:
    """The value of a reference, or why it has none."""

    state: Literal["present", "later", "not_taken", "never"]
    """``later``: an unfinished call may provide it; ``not_taken``: its branch was not taken;
    ``never``: no call can provide it."""
    value: JsonValue = None
    why: str = ""


_LATER = Found("later")


def expressions_in(call: ToolCall) -> tuple[Expression, ...]:
    """Return the references in a call's arguments; none when they are not a JSON object."""
    found = (parse_expression(text) for text in _strings(_own(call)))
    return tuple(dict.fromkeys(one for one in found if one is not None))


def split_destination(tool: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tool's own arguments, and those that say where the result is stored.

    Many tool servers have an ``output_path`` of their own, so a text without † is theirs.
    """
    path = data.get("output_path")
    is_ours = isinstance(path, str) and path.lstrip().startswith(DAGGER)
    taken = _DESTINATION if is_ours or not is_server_tool(tool) else frozenset[str]()
    own = {key: value for key, value in data.items() if key not in taken}
    return own, {key: data[key] for key in data.keys() & taken}


def destination_in(tool: str, arguments: Mapping[str, Any]) -> Destination | None:
    """Return where the call's result is stored; None when it has no output path.

    Errors: ``ValueError`` for an invalid path or method.
    """
    _, data = split_destination(tool, arguments)
    path, method = data.get("output_path"), data.get("output_method") or "set"
    if not path:
        return None
    if not isinstance(path, str):
        raise ValueError("output_path is no text; write it as †state.name")
    if method not in _METHODS:
        raise ValueError(f"output_method {method!r} is none of {', '.join(_METHODS)}")
    return Destination(parse_output(path), cast("OutputMethod", method))


def resolved(call: ToolCall, values: Mapping[str, JsonValue]) -> ToolCall:
    """Return the call with every reference replaced by its value."""
    own, kept = split_destination(call.tool, parse_arguments(call.arguments_json))
    changed = {**_mapped(own, values), **kept}
    return call.model_copy(
        update={"arguments_json": json.dumps(changed, ensure_ascii=False, separators=(", ", ": "))}
    )


def skipped(call: ToolCall, why: str) -> ToolResult:
    """Return the result of a call that waited for a branch that was not taken."""
    text = f"Skipped: {why}, so this was not needed."
    return ToolResult(call_id=call.id, text=text, data={"skipped": True})


class Results:
    """What the calls of one answer have stored, and may still store."""

    def __init__(
        self,
        calls: Sequence[tuple[ToolCall, ToolResult | None]],
        stored: Sequence[OutputStored],
    ) -> None:
        """Take the answer's calls in order with their results, and all values stored so far."""
        self._calls = calls
        self._stored = stored
        self._goes_to = {call.id: _paths_of(call) for call, _ in calls}

    def find(self, expression: Expression, call: ToolCall) -> Found:
        """Return the value of an expression in ``call``, or why it has none."""
        lacking: list[Found] = []
        for branch in expression.branches:
            found = [self._look(path, call) for path in branch]
            if all(one.state == "present" for one in found):
                return found[-1]
            if any(one.state == "later" for one in found):
                return _LATER
            lacking += (one for one in found if one.state != "present")
        return next((one for one in lacking if one.state == "not_taken"), lacking[0])

    def brings(self, path: Path) -> bool:
        """Say whether any call stores its result at this path, above it or below it."""
        return any(_touch(target, path) for all_of in self._goes_to.values() for target in all_of)

    def producers(self, calls: Sequence[ToolCall]) -> frozenset[str]:
        """Return the ids of all calls that these calls wait for, directly or indirectly."""
        by_id = {call.id: call for call, _ in self._calls}
        found: set[str] = set()
        todo = list(calls)
        while todo:
            paths = [path for one in expressions_in(todo.pop()) for path in one.paths]
            for call_id, targets in self._goes_to.items():
                if call_id not in found and any(_touch(a, b) for a in targets for b in paths):
                    found.add(call_id)
                    todo.append(by_id[call_id])
        return frozenset(found)

    def _look(self, path: Path, reader: ToolCall) -> Found:
        """Return one path's value for a call; unfinished calls before it take precedence."""
        value = value_at(self._stored, path)
        lacking = Found("never", why=f"nothing was stored at {shown(path)}")
        is_earlier = True
        for call, result in self._calls:
            if call.id == reader.id:
                is_earlier = False
            elif any(_touch(target, path) for target in self._goes_to[call.id]):
                if result is not None:
                    lacking = self._lacking(call, result, path)
                elif is_earlier or value is MISSING:
                    return _LATER
        return lacking if value is MISSING else Found("present", cast("JsonValue", value))

    def _lacking(self, call: ToolCall, result: ToolResult, path: Path) -> Found:
        """Return why a finished call did not store the value it could have stored."""
        name, place = call.tool, shown(path)
        if value_at(self._stored, (*path[:-1], CUT)) is True:
            return Found("never", why=f"{name} brought more for {place} than {_TOO_LONG}")
        branches = _branches(call)
        is_skipped = result.not_run == "skipped"
        has_run = result.error in (None, ErrorKind.RUNTIME, ErrorKind.TIMEOUT)
        if is_skipped or (has_run and len(branches) > 1):
            return Found("not_taken", why=f"{place} was not taken")
        if result.error is not None:
            return Found("never", why=f"{name}, which should have brought {place}, failed")
        for target in (target for branch in branches for target in branch):
            if path[: len(target)] == target and path[len(target) :][:1] in OUTCOMES:
                return Found("not_taken", why=f"{place} was not taken")
        keys = ", ".join(value_of(result))
        return Found("never", why=f"{name} brought no {place}; its result has {keys}")


def _touch(one: Path, other: Path) -> bool:
    size = min(len(one), len(other))
    return one[:size] == other[:size]


def _paths_of(call: ToolCall) -> tuple[Path, ...]:
    return tuple(path for branch in _branches(call) for path in branch)


def _branches(call: ToolCall) -> tuple[tuple[Path, ...], ...]:
    """Return where a call's result is stored; nowhere if the output path is invalid."""
    try:
        goes_to = destination_in(call.tool, parse_arguments(call.arguments_json))
    except ValueError:
        return ()
    return goes_to.output.branches if goes_to else ()


def _own(call: ToolCall) -> dict[str, Any]:
    own, _ = split_destination(call.tool, parse_arguments(call.arguments_json))
    return own


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and not cast("dict[str, object]", value).keys() >= _CALL:
        for one in cast("dict[str, object]", value).values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _strings(one)


def _mapped(value: Any, values: Mapping[str, JsonValue]) -> Any:
    if isinstance(value, str):
        expression = parse_expression(value)
        return value if expression is None else values.get(expression.text, value)
    if isinstance(value, dict) and not cast("dict[str, Any]", value).keys() >= _CALL:
        return {key: _mapped(one, values) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_mapped(one, values) for one in cast("list[Any]", value)]
    return cast("Any", value)
