"""Hooks written for Claude Code find its names in what they are told, and are understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from agent_ls.domain.events import HookRan
from agent_ls.domain.hooks import HookAnswer, HookPoint
from agent_ls.loop.calls.other_agents import name_here
from agent_ls.loop.hook_words import CLAUDE_CODE, our_answer, told_words, tool_words
from tests.loop.conftest import Stage
from tests.support.turns import run_turn_of

BEFORE, AFTER = HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL


@pytest.mark.parametrize(
    "point, told, words",
    [
        (
            BEFORE,
            {"tool": "run_command", "arguments": {"command": "ls"}, "call_id": "c", "mode": "ask"},
            {
                "hook_event_name": "PreToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_use_id": "c",
                "permission_mode": "default",
            },
        ),
        (
            BEFORE,
            {"tool": "write_file", "arguments": {"path": "a", "content": "b"}, "mode": "auto"},
            {
                "tool_name": "Write",
                "tool_input": {"file_path": "/p/a", "content": "b"},
                "permission_mode": "auto",
            },
        ),
        (
            BEFORE,
            {
                "tool": "edit_file",
                "arguments": {"path": "a", "edits": [{"old_string": "b", "new_string": "c"}]},
            },
            {
                "tool_name": "Edit",
                "tool_input": {"file_path": "/p/a", "old_string": "b", "new_string": "c"},
            },
        ),
        (
            BEFORE,
            {"tool": "linear/list", "arguments": {}},
            {"tool_name": "mcp__linear__list", "tool_input": {}},
        ),
        (
            AFTER,
            {"tool": "move_file", "arguments": {"path": "a"}, "result": "no", "error": "runtime"},
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Edit",
                "tool_input": {"file_path": "/p/a"},
                "tool_response": {"content": "no", "stdout": "", "stderr": "no", "success": False},
            },
        ),
        (
            AFTER,
            {"tool": "run_command", "arguments": {}, "result": "Exit code 0.\n2 passed\n"},
            {
                "tool_response": {
                    "content": "Exit code 0.\n2 passed\n",
                    "stdout": "2 passed\n",
                    "stderr": "",
                    "success": True,
                }
            },
        ),
        (
            AFTER,
            {"tool": "read_file", "arguments": {"path": 3}, "result": "Exit code 0.\n"},
            {
                "tool_input": {"file_path": 3},
                "tool_response": {
                    "content": "Exit code 0.\n",
                    "stdout": "Exit code 0.\n",
                    "stderr": "",
                    "success": True,
                },
            },
        ),
        (HookPoint.PROMPT, {"prompt": "p"}, {"hook_event_name": "UserPromptSubmit"}),
        (HookPoint.SESSION_START, {}, {"hook_event_name": "SessionStart", "source": "startup"}),
        (HookPoint.STOP, {"answer": "a", "objections": 1}, {
            "hook_event_name": "Stop", "stop_hook_active": True, "last_assistant_message": "a"
        }),
        (HookPoint.COMPACTION, {}, {"hook_event_name": "PreCompact", "trigger": "auto"}),
        (HookPoint.SESSION_END, {}, {"hook_event_name": "SessionEnd", "reason": "other"}),
    ],
)  # fmt: skip
def test_what_a_hook_is_told_in_those_words(
    point: HookPoint, told: dict[str, JsonValue], words: dict[str, JsonValue]
) -> None:
    found = told_words(point, told, "/p", "/p/{}".format)
    assert (found["cwd"], found["transcript_path"]) == ("/p", "")
    assert words.items() <= found.items()


def test_points_that_it_has_not_are_told_in_ours_alone() -> None:
    assert told_words(HookPoint.BEFORE_LLM_CALL, {"model": "m"}, "/p", str) == {}
    assert tool_words("find_symbol") == "find_symbol"
    assert {tool_words(one) for one in ("apply_patch", "delete_file")} == {"Edit"}


@pytest.mark.parametrize(
    "point, given, answer",
    [
        (BEFORE, {"decision": "block", "reason": "r"}, HookAnswer(decision="deny", reason="r")),
        (BEFORE, {"decision": "approve"}, HookAnswer(decision="allow")),
        (
            BEFORE,
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "ask",
                    "permissionDecisionReason": "r",
                    "updatedInput": {"command": "ls"},
                },
                "suppressOutput": True,
                "systemMessage": "m",
            },
            HookAnswer(decision="ask", reason="r", arguments={"command": "ls"}),
        ),
        (
            AFTER,
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c"}},
            HookAnswer(context="c"),
        ),
        (AFTER, {"decision": "block", "reason": "r"}, HookAnswer(decision="deny", reason="r")),
        (HookPoint.SESSION_START, {"additionalContext": "c"}, HookAnswer(context="c")),
        (
            HookPoint.PROMPT,
            {"continue": False, "stopReason": "s"},
            HookAnswer(decision="deny", reason="s"),
        ),
        (HookPoint.STOP, {"continue": False, "decision": "block"}, HookAnswer()),
        (HookPoint.STOP, {"continue": True}, HookAnswer()),
        (BEFORE, {"decision": "deny"}, HookAnswer(decision="deny")),
        (BEFORE, {"arguments": {"a": 1}}, HookAnswer(arguments={"a": 1})),
        (BEFORE, {}, HookAnswer()),
    ],
)
def test_what_a_hook_answers_in_those_words(
    point: HookPoint, given: dict[str, Any], answer: HookAnswer
) -> None:
    assert HookAnswer.model_validate(our_answer(given, point)) == answer


_GUARD = """\
import json, os, sys

data = json.load(sys.stdin)
assert data["hook_event_name"] == "PreToolUse" and data["hook"] == "before_tool"
assert data["cwd"] == data["workspace"] == os.environ["CLAUDE_PROJECT_DIR"] and data["session_id"]
path = data["tool_input"].get("file_path", "")
assert not path or os.path.dirname(path) == data["cwd"]
if path.endswith(".lock"):
    print("no locks: " + data["tool_name"], file=sys.stderr)
    sys.exit(2)
if path.endswith(".md"):
    said = {"permissionDecision": "deny", "permissionDecisionReason": "no docs"}
elif path.endswith(".txt"):
    changed = {**data["tool_input"], "content": "changed"}
    said = {"permissionDecision": "allow", "updatedInput": changed}
else:
    said = {"permissionDecision": "ask", "permissionDecisionReason": "who knows"}
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}))
"""


@pytest.mark.heavy
@pytest.mark.asyncio(loop_scope="session")
async def test_a_program_written_for_it_guards_our_calls(tmp_path: Path, stage: Stage) -> None:
    program = tmp_path / "guard.py"
    program.write_text(_GUARD)
    settings = f"""
        mode = "accept-edits"
        [[hooks.before_tool]]
        name = "guard"
        command = "python3 {program}"
        tools = ["Write", "Edit"]
        timeout_s = 30
    """
    calls = "".join(
        f"""
        [[answer.call]]
        tool = "write_file"
        arguments = {{ path = "{name}", content = "x" }}
        """
        for name in ("a.lock", "a.md", "a.txt", "a.py")
    )
    model = f"[[answer]]\n{calls}\n[[answer]]\ntext = 'Done.'"
    folder = tmp_path / "project"
    folder.mkdir()
    async with stage.opened(folder, model, settings_toml=settings) as sessions:
        session = await sessions.create()
        _, events = await run_turn_of(session, "Write.", ["reject_once"])
    ran = [(one.outcome.value, one.text) for one in events if isinstance(one, HookRan)]
    assert sorted(ran) == [
        ("blocked", "no docs"),
        ("blocked", "no locks: Write"),
        ("changed", ""),
        ("passed", "who knows"),
    ]
    assert [one.name for one in folder.iterdir()] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "changed"


def test_a_name_of_claude_code_leads_to_our_tool_and_back() -> None:
    for theirs, ours in CLAUDE_CODE.items():
        assert name_here(theirs) == ours[0]
        assert {tool_words(one) for one in ours} == {theirs}
