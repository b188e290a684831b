"""Hooks' input and answers in the words of Claude Code, beside our own.

Programs that were written for it find what they look for: names of events and tools, arguments.
What it documents is data here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import JsonValue

from agent_ls.domain.calls import is_server_tool
from agent_ls.domain.hooks import HookPoint
from agent_ls.domain.modes import Mode

_Given = Mapping[str, JsonValue]

_EVENTS = {
    HookPoint.BEFORE_TOOL: "PreToolUse",
    HookPoint.AFTER_TOOL: "PostToolUse",
    HookPoint.SESSION_START: "SessionStart",
    HookPoint.PROMPT: "UserPromptSubmit",
    HookPoint.STOP: "Stop",
    HookPoint.COMPACTION: "PreCompact",
    HookPoint.SESSION_END: "SessionEnd",
}
_MODES = {
    Mode.PLAN: "plan",
    Mode.ASK_ALL: "default",
    Mode.ASK: "default",
    Mode.ACCEPT_EDITS: "acceptEdits",
    Mode.AUTO: "auto",
}
CLAUDE_CODE: Mapping[str, tuple[str, ...]] = {
    "Bash": ("run_command",),
    "Read": ("read_file",),
    "Edit": ("edit_file", "apply_patch", "move_file", "delete_file"),
    "Write": ("write_file",),
    "Grep": ("grep",),
    "Glob": ("glob",),
    "LS": ("list_dir",),
    "Task": ("delegate",),
    "TodoWrite": ("update_plan",),
    "AskUserQuestion": ("ask_user",),
    "Skill": ("skill",),
    "WebFetch": ("web_fetch",),
    "BashOutput": ("background",),
}
"""Claude Code's tool and ours: first the one that does the same, then those that are part of it.

Also for calls of these, and for lists of tools (``calls/other_agents.py``).
"""
_TOOLS = {one: theirs for theirs, ours in CLAUDE_CODE.items() for one in ours}
_PATH_ARGUMENTS = ("read_file", "edit_file", "write_file", "move_file", "delete_file")
"""Tools whose ``path`` is a ``file_path`` there."""
_FIXED: Mapping[HookPoint, dict[str, JsonValue]] = {
    HookPoint.SESSION_START: {"source": "startup"},
    HookPoint.COMPACTION: {"trigger": "auto", "custom_instructions": ""},
    HookPoint.SESSION_END: {"reason": "other"},
}
_OUR_LINE = re.compile(r"\AExit code -?\d+\.(?:\n|\Z)")
"""What stands above a command's output for the model."""
_DECISIONS = {"approve": "allow", "block": "deny"}
_SPECIFIC = {
    "permissionDecision": "decision",
    "permissionDecisionReason": "reason",
    "updatedInput": "arguments",
    "additionalContext": "context",
}
"""Keys of ``hookSpecificOutput``, and ours."""
_WITHOUT_EFFECT = ("continue", "stopReason", "systemMessage", "suppressOutput")


def tool_words(tool: str) -> str:
    """Return the name of a tool there; ours if there is none like it."""
    if is_server_tool(tool):
        server, _, name = tool.partition("/")
        return f"mcp__{server}__{name}"
    return _TOOLS.get(tool, tool)


def point_of(event: str) -> str:
    """Return our point that is called so there; empty: there is none."""
    return next((point.value for point, theirs in _EVENTS.items() if theirs == event), "")


def told_words(
    point: HookPoint, told: _Given, cwd: str, absolute: Callable[[str], str]
) -> dict[str, JsonValue]:
    """Return what a hook is told in Claude Code's words; empty for a point that it has not.

    ``absolute`` returns the whole path of a file that a call names.
    """
    if (event := _EVENTS.get(point)) is None:
        return {}
    mode = told.get("mode")
    words: dict[str, JsonValue] = {
        "hook_event_name": event,
        "cwd": cwd,
        # agent-ls keeps no such file; see ``agent-ls trace``.
        "transcript_path": "",
        "permission_mode": _MODES[Mode(mode)] if isinstance(mode, str) else "default",
        **_FIXED.get(point, {}),
    }
    if isinstance(tool := told.get("tool"), str):
        words |= {
            "tool_name": tool_words(tool),
            "tool_input": _input(tool, told, absolute),
            "tool_use_id": told.get("call_id", ""),
        }
    if point is HookPoint.AFTER_TOOL:
        text, error = str(told.get("result") or ""), told.get("error")
        printed = _OUR_LINE.sub("", text) if tool == "run_command" else text
        words["tool_response"] = {
            "content": text,
            "stdout": printed if not error else "",
            "stderr": printed if error else "",
            "success": not error,
        }
    if point is HookPoint.STOP:
        words["stop_hook_active"] = bool(told.get("objections"))
        words["last_assistant_message"] = told.get("answer", "")
    return words


def our_answer(given: Mapping[str, Any], point: HookPoint) -> dict[str, Any]:
    """Return a hook's answer in our words."""
    answer = {key: value for key, value in given.items() if key not in _WITHOUT_EFFECT}
    specific = answer.pop("hookSpecificOutput", None)
    if isinstance(specific, dict):
        named = cast("dict[str, Any]", specific)
        answer |= {ours: named[key] for key, ours in _SPECIFIC.items() if key in named}
    if "additionalContext" in answer:
        answer["context"] = answer.pop("additionalContext")
    if isinstance(decision := answer.get("decision"), str):
        answer["decision"] = _DECISIONS.get(decision, decision)
    if given.get("continue") is False:
        # There it stops the agent, whatever was to happen next; at a stop nothing is next.
        answer["decision"] = None if point is HookPoint.STOP else "deny"
        answer["reason"] = answer.get("reason") or given.get("stopReason") or ""
    return answer


def _input(tool: str, told: _Given, absolute: Callable[[str], str]) -> JsonValue:
    given = told.get("arguments")
    if not isinstance(given, dict):
        return given
    words: dict[str, JsonValue] = dict(given)
    if tool in _PATH_ARGUMENTS and "path" in words:
        path = words.pop("path")
        words = {"file_path": absolute(path) if isinstance(path, str) else path, **words}
    edits = words.get("edits")
    if tool == "edit_file" and isinstance(edits, list) and len(edits) == 1:
        only = edits[0]
        if isinstance(only, dict) and {"old_string", "new_string"} <= only.keys():
            words = {**words, **only}
            del words["edits"]
    return words
