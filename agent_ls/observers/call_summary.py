"""Summarises a call in one short line, for logs.

Source: S2, argument summarizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from agent_ls.domain.calls import is_server_tool
from agent_ls.domain.plain_json import plain_json
from agent_ls.edits.plan import parse_patch
from agent_ls.edits.requests import Refused
from agent_ls.safety.secrets import mask
from agent_ls.safety.text import visible_line

_MAX_CHARACTERS = 100
_MAX_FOREIGN_CHARACTERS = 60
"""Limit for a call of an MCP server's tool, about which nothing is known."""
_Arguments = Mapping[str, Any]


def summary_of(tool: str, arguments_json: str, *, with_size: bool = True) -> str:
    """Return a call's most telling argument, and the size of its change.

    Never raises: arguments that are not a JSON object are shown as they are.
    """
    try:
        arguments: object = plain_json(arguments_json or "{}")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return short(arguments_json)
    known = cast("_Arguments", arguments)
    limit = _MAX_FOREIGN_CHARACTERS if is_server_tool(tool) else _MAX_CHARACTERS
    try:
        about = _SUMMARIES.get(tool, _first_text)(known)
        if with_size and (size := _SIZES.get(tool)):
            about += f" ({size(known)} lines)"
        return short(about, limit)
    except (ValueError, LookupError, TypeError, AttributeError):
        # Written otherwise than the tool asks for, often by other names.
        return short(_first_text(known) or arguments_json, limit)


def short(text: str, limit: int = _MAX_CHARACTERS) -> str:
    """Return a text's first line, cut to ``limit``; masks secrets, shows hidden characters."""
    lines = text.strip().split("\n", 1)
    line = visible_line(mask(lines[0]).strip())
    is_cut = len(line) > limit or len(lines) > 1
    return f"{line[:limit]}…" if is_cut else line


def _first_text(arguments: _Arguments) -> str:
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return texts[0] if texts else ""


def _edit_size(arguments: _Arguments) -> str:
    edits: list[_Arguments] = arguments["edits"]
    old = sum(_lines(edit["old_string"]) for edit in edits)
    new = sum(_lines(edit["new_string"]) for edit in edits)
    return f"{old}→{new}"


def _patch(arguments: _Arguments) -> str:
    parsed = parse_patch(arguments["patch"])
    return "" if isinstance(parsed, Refused) else ", ".join(one.path for one in parsed)


def _search(arguments: _Arguments) -> str:
    place = arguments.get("path") or "."
    return f'"{arguments["pattern"]}"' + (f" in {place}" if place != "." else "")


def _paths(arguments: _Arguments) -> str:
    paths: list[str] = list(arguments.get("paths", ()))
    return ", ".join(paths) or "the files changed so far"


def _plan(arguments: _Arguments) -> str:
    items: list[_Arguments] = arguments["items"]
    done = sum(item.get("status") == "completed" for item in items)
    return f"{done} of {len(items)} done"


def _lines(text: str) -> int:
    return len(text.splitlines())


_SUMMARIES: Mapping[str, Callable[[_Arguments], str]] = {
    "write_file": lambda given: given["path"],
    "edit_file": lambda given: given["path"],
    "apply_patch": _patch,
    "repository_map": lambda given: ", ".join(given.get("paths", ())) or "all files",
    "move_file": lambda given: f"{given['path']} → {given['new_path']}",
    "grep": _search,
    "glob": _search,
    "list_dir": lambda given: given.get("path", "."),
    "update_plan": _plan,
    "diagnostics": _paths,
    "delegate": lambda given: f"{given['kind']}: {given['task']}",
}
"""Summaries for tools whose first text argument does not tell enough."""
_SIZES: Mapping[str, Callable[[_Arguments], str]] = {
    "write_file": lambda given: str(_lines(given["content"])),
    "edit_file": _edit_size,
}
