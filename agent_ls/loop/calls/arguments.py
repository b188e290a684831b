"""Parses a call's arguments into the tool's arguments, or into an error result.

Strict: broken JSON is an error, never an empty object. Source: S1, structural errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, cast

from pydantic import ValidationError

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.mistakes import causes
from agent_ls.domain.model_io import ToolSpec
from agent_ls.domain.plain_json import plain_json
from agent_ls.loop.calls.other_agents import counterpart, in_our_words, plain, why_absent
from agent_ls.loop.calls.references import destination_in, split_destination
from agent_ls.loop.extension_points import PlannedCall, Tool

_SHOWN_CHARS = 2_000
_ENDS_A_TURN = "final_output"


def plan_call(
    call: ToolCall, tools: Mapping[str, Tool[Any]], specs: tuple[ToolSpec, ...]
) -> PlannedCall | ToolResult:
    """Return the call with validated arguments, or a structural error result.

    A call of another agent's tool becomes one of ours, where that does exactly what it asks for.
    """
    try:
        call = in_our_words(call, tools)
    except ValueError as error:
        ours = counterpart(call.tool, call.arguments_json, tools)
        return error_result(call, f"{error}.", specs, of=ours)
    tool = tools.get(call.tool)
    if tool is None:
        return _unknown(call, tools, specs)
    try:
        data = parse_object(call.arguments_json)
    except ValueError as error:
        return error_result(call, f"The arguments are not one JSON object: {error}.", specs)
    try:
        goes_to = destination_in(call.tool, data)
    except ValueError as error:
        return error_result(call, f"{error}.", specs)
    own, _ = split_destination(call.tool, data)
    try:
        arguments = tool.Arguments.model_validate(own)
    except ValidationError as error:
        return error_result(call, _why(error), specs, hint=_nearest_of(error, tool))
    return PlannedCall(call, tool, arguments, goes_to)


def changed_call(
    planned: PlannedCall,
    arguments_json: str,
    tool: str,
    tools: Mapping[str, Tool[Any]],
    specs: tuple[ToolSpec, ...] = (),
) -> PlannedCall | ToolResult:
    """Return the call as changed by a user or a hook, validated like the model's own.

    The output path stays the model's unless the change sets another.
    """
    update = {"tool": tool, "arguments_json": arguments_json}
    found = plan_call(planned.call.model_copy(update=update), tools, specs)
    if isinstance(found, PlannedCall) and found.goes_to is None:
        return replace(found, goes_to=planned.goes_to)
    return found


def _unknown(
    call: ToolCall, tools: Mapping[str, Tool[Any]], specs: tuple[ToolSpec, ...]
) -> ToolResult:
    """Return the result for an unknown tool, naming the offered tool that does the same."""
    offered = [spec.name for spec in specs] or list(tools)
    if why := why_absent(call.tool, offered):
        return error_result(call, f"There is no tool {call.tool!r}: {why}.", specs, of=_ENDS_A_TURN)
    ours = counterpart(call.tool, call.arguments_json, offered)
    if not ours:
        names = ", ".join(offered)
        return error_result(call, f"There is no tool {call.tool!r}. The tools are: {names}.")
    why = f"There is no tool {call.tool!r}; {ours} does this here."
    return error_result(call, why, specs, of=ours)


def parse_object(text: str) -> dict[str, Any]:
    """Parse ``text`` as one JSON object.

    Errors: ``ValueError`` for anything else, and for values that cannot be stored and shown.
    """
    data = plain_json(text)
    if not isinstance(data, dict):
        raise ValueError(f"it is a {type(data).__name__}, not an object")
    return cast("dict[str, Any]", data)


def error_result(
    call: ToolCall, error: str, specs: tuple[ToolSpec, ...] = (), *, of: str = "", hint: str = ""
) -> ToolResult:
    """Return an error result that quotes the call, so that the model can correct it.

    ``of`` names the tool whose parameters are listed; default: the called tool. ``hint`` says
    what may be meant.
    """
    parts = [
        f"error: {error}",
        f"call: {call.tool}({call.arguments_json[:_SHOWN_CHARS]})",
    ]
    parts += [
        f"parameters of {spec.name}: {json.dumps(spec.parameters, ensure_ascii=False)}"
        for spec in specs
        if spec.name == (of or call.tool)
    ]
    if hint:
        parts.append(hint)
    parts.append("Nothing was done. Correct the call and try again.")
    return ToolResult(call_id=call.id, text="\n".join(parts), error=ErrorKind.STRUCTURAL)


def _why(error: ValidationError) -> str:
    found = causes(error)
    lines = [
        ": ".join(filter(None, (".".join(map(str, one["loc"])), _said(one["msg"]))))
        for one in found
    ]
    return "The arguments do not fit: " + "; ".join(lines) + "."


def _said(message: str) -> str:
    return message.removeprefix("Value error, ")


def _nearest_of(error: ValidationError, tool: Tool[Any]) -> str:
    found = causes(error)
    unknown = [str(one["loc"][-1]) for one in found if one["type"] == "extra_forbidden"]
    return " ".join(filter(None, (_nearest(name, tool) for name in unknown)))


def _nearest(name: str, tool: Tool[Any]) -> str:
    """Return which argument an unknown one may be meant for; empty if none is like it."""
    known = {plain(one): one for one in _names_in(tool.Arguments.model_json_schema())}
    near = get_close_matches(plain(name), known, 1)
    return f"{name}: did you mean {known[near[0]]}?" if near else ""


def _names_in(schema: object) -> Iterator[str]:
    known = cast("dict[str, object]", schema) if isinstance(schema, dict) else {}
    yield from cast("dict[str, object]", known.get("properties", {}))
    for value in known.values():
        yield from _names_in(value)
