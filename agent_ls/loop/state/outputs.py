"""Values that calls stored at state paths, read from events, newest first.

Source: S1, output paths and methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import assert_never

from pydantic import JsonValue

from agent_ls.domain.calls import ErrorKind, ToolResult
from agent_ls.domain.events import OutputMethod, OutputStored
from agent_ls.loop.state.expressions import Expression, Path

MISSING = object()
"""Marks a path without a value; ``null`` is a value."""
OUTCOMES = (("value",), ("error",))
"""A result has exactly one of these below its output path; the other is the branch not taken."""
CUT = "is_cut"
"""The key that replaces a value too long to be stored."""


def value_at(stored: Sequence[OutputStored], path: Path) -> JsonValue | object:
    """Return the value at a path, or ``MISSING``.

    Starts at the newest *set* that covers the path and applies later events to it, oldest first.
    """
    found: list[OutputStored] = []
    for one in reversed(stored):
        target = one.path
        if target[: len(path)] != path and path[: len(target)] != target:
            continue
        found.append(one)
        if one.method == "set" and len(target) <= len(path):
            break
    tree: dict[str, JsonValue] = {}
    for one in reversed(found):
        _apply(tree, one.path, one.method, one.value)
    value = _below(tree, path)
    return value if value is MISSING else deepcopy(value)


def with_output(stored: tuple[OutputStored, ...], newest: OutputStored) -> tuple[OutputStored, ...]:
    """Return the stored values with one more; values that a *set* overwrites are dropped."""
    kept = stored
    if newest.method == "set":
        size = len(newest.path)
        kept = tuple(one for one in stored if one.path[:size] != newest.path)
    # A call rerun after a restart replaces its earlier value.
    return (*(one for one in kept if _place_of(one) != _place_of(newest)), newest)


def _place_of(stored: OutputStored) -> tuple[str, Path]:
    return stored.call_id, stored.path


def value_of(result: ToolResult) -> dict[str, JsonValue]:
    """Return what a result stores at its output path.

    Shape: the tool's facts, with the text as ``value``, or as ``error`` when the call failed or a
    command exited with a code other than 0.
    """
    facts: dict[str, JsonValue] = {}
    if isinstance(result.data, dict):
        facts = dict(result.data)
    elif result.data is not None:
        facts = {"data": result.data}
    return facts | {"value" if went_well(result) else "error": result.text}


def went_well(result: ToolResult) -> bool:
    """Say whether the call succeeded, including exit code 0 for a command."""
    code = result.data.get("exit_code", 0) if isinstance(result.data, dict) else 0
    return result.error is None and code == 0


def targets(output: Expression, result: ToolResult) -> tuple[Path, ...]:
    """Return the paths where a result is stored; none when the call did not run."""
    if result.error not in (None, ErrorKind.RUNTIME, ErrorKind.TIMEOUT):
        return ()
    branches = output.branches
    return branches[0] if went_well(result) or len(branches) == 1 else branches[1]


def _below(tree: JsonValue, path: Path) -> JsonValue | object:
    value: JsonValue = tree
    for key in path:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def _apply(tree: dict[str, JsonValue], path: Path, method: OutputMethod, value: JsonValue) -> None:
    place = tree
    for key in path[:-1]:
        inner = place.get(key)
        if not isinstance(inner, dict):
            inner = place[key] = {}
        place = inner
    place[path[-1]] = _joined(place.get(path[-1]), method, deepcopy(value))


def _joined(before: JsonValue, method: OutputMethod, value: JsonValue) -> JsonValue:
    match method:
        case "set":
            return value
        case "merge":
            return _merged(before, value)
        case "assign":
            if isinstance(before, dict) and isinstance(value, dict):
                return before | value
            return value
        case "push":
            return [*_listed(before), value]
        case "concat":
            return [*_listed(before), *_listed(value)]
        case _:
            assert_never(method)


def _merged(before: JsonValue, value: JsonValue) -> JsonValue:
    if not (isinstance(before, dict) and isinstance(value, dict)):
        return value
    after = dict(before)
    for key, one in value.items():
        after[key] = _merged(after[key], one) if key in after else one
    return after


def _listed(value: JsonValue) -> list[JsonValue]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
