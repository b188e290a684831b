"""Calls as other agents' models write them, carried out on a real folder: what came of them counts.

The names and arguments are those of the agents' own definitions of their tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_ls.domain.calls import ErrorKind, ToolCall, ToolResult
from agent_ls.domain.errors import ToolError
from agent_ls.domain.events import PlanUpdated
from agent_ls.domain.ids import Ids
from agent_ls.loop.calls.arguments import plan_call
from agent_ls.tools.apply_patch import ApplyPatch
from agent_ls.tools.ask_user import AskUser
from agent_ls.tools.delete_file import DeleteFile
from agent_ls.tools.edit_file import EditFile
from agent_ls.tools.glob import Glob
from agent_ls.tools.grep import Grep
from agent_ls.tools.list_dir import ListDir
from agent_ls.tools.move_file import MoveFile
from agent_ls.tools.read_file import ReadFile
from agent_ls.tools.run_command import RunCommand
from agent_ls.tools.spec import spec_of
from agent_ls.tools.update_plan import UpdatePlan
from agent_ls.tools.write_file import WriteFile
from agent_ls.workspace.runner import ShellRunner
from tests.tools.conftest import Place

APP = """\
def add(a, b):
    return a + b


def sub(a, b):
    return a - b


LIMIT = 10
"""
UTIL = "export const LIMIT = 20;\nexport const price = a.b;\n"
ADD = "    1\tdef add(a, b):"
ADD_BODY = "    2\t    return a + b"
SUB = "    5\tdef sub(a, b):"
LAST = "    9\tLIMIT = 10"
FILES = {"src/app.py": APP, "src/util.js": UTIL, "README.md": "# Demo\n\nNo limit here.\n"}
PLUS = APP.replace("return a + b", "return b + a")
OTHER_LIMIT = APP.replace("LIMIT = 10", "LIMIT = 99")
BOTH = PLUS.replace("LIMIT = 10", "LIMIT = 99")
OLD, NEW = "    return a + b", "    return b + a"

AIDER = f"<<<<<<< SEARCH\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE"
NAMED = f"src/app.py\n```python\n{AIDER}\n```"
CLINE = f"------- SEARCH\n{OLD}\n=======\n{NEW}\n+++++++ REPLACE"
ROO = f"<<<<<<< SEARCH\n:start_line:2\n-------\n{OLD}\n=======\n{NEW}\n>>>>>>> REPLACE"
TWO = f"{AIDER}\n\n<<<<<<< SEARCH\nLIMIT = 10\n=======\nLIMIT = 99\n>>>>>>> REPLACE\n"
HUNK = f"@@ -1,2 +1,2 @@\n def add(a, b):\n-{OLD}\n+{NEW}\n"
DIFF = f"--- a/src/app.py\n+++ b/src/app.py\n{HUNK}"
UPDATE = f"*** Update File: src/app.py\n@@ def add(a, b):\n-{OLD}\n+{NEW}\n"
PATCH = f"*** Begin Patch\n{UPDATE}*** End Patch"


@dataclass(frozen=True)
class Row:
    """A call, and what comes of it."""

    agent: str
    tool: str
    given: dict[str, Any]
    says: tuple[str, ...] = ()
    """Parts of the result that the model reads."""
    lacks: tuple[str, ...] = ()
    app: str = APP
    """The text of src/app.py afterwards."""
    files: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Other files afterwards; None: gone."""
    plan: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Refused:
    """A call that is refused before it does anything, and what its refusal says."""

    agent: str
    tool: str
    given: dict[str, Any]
    says: tuple[str, ...]


PATH = {"path": "src/app.py"}
FILE = {"file_path": "{root}/src/app.py"}
CAMEL = {"filePath": "{root}/src/app.py"}
PLAN = (("Read", "completed"), ("Write", "in_progress"), ("Test", "pending"))

READS = [
    Row("Claude Code", "Read", FILE, (ADD, LAST)),
    Row("Claude Code", "Read", {**FILE, "offset": 5, "limit": 2}, (SUB,), (ADD_BODY, LAST)),
    Row("Claude Code", "Read", {**FILE, "pages": ""}, (ADD,)),
    Row("Claude Code", "read_file", {**FILE, "offset": 0, "limit": 1}, (ADD,), (ADD_BODY,)),
    Row("opencode", "read", {**CAMEL, "offset": 0, "limit": 2}, (ADD, ADD_BODY), (SUB,)),
    Row("codex", "read_file", {**FILE, "offset": 1, "limit": 2, "mode": "slice"}, (ADD,), (SUB,)),
    Row("gemini-cli", "read_file", {"absolute_path": "{root}/src/app.py"}, (ADD, LAST)),
    Row("gemini-cli", "read_file", {**FILE, "start_line": 5, "end_line": 5}, (SUB,), (LAST, ADD)),
    Row("gemini-cli", "read_many_files", {"paths": ["src/app.py"], "recursive": False}, (ADD,)),
    Row("Cline", "read_file", {**PATH, "task_progress": "- [ ] look"}, (ADD,), ("Left out",)),
    Row("Cline", "read_file", {**PATH, "start_line": 9, "end_line": 9}, (LAST,), (SUB,)),
    Row("Roo Code", "read_file", {"files": [{"path": "src/app.py", "line_ranges": [[5, 6]]}]},
        (SUB,), (ADD, LAST)),
    Row("Roo Code", "read_file", {"files": [{"path": "src/app.py", "line_ranges": ["5-6"]}]},
        (SUB,), (ADD, LAST)),
    Row("Cursor", "read_file", {"target_file": "src/app.py", "should_read_entire_file": True,
        "start_line_one_indexed": 1, "end_line_one_indexed_inclusive": 2, "explanation": "see"},
        (ADD, LAST)),
    Row("Cursor", "read_file", {"target_file": "src/app.py", "should_read_entire_file": False,
        "start_line_one_indexed": 5, "end_line_one_indexed_inclusive": 6}, (SUB,), (ADD, LAST)),
    Row("Copilot", "read_file", {**CAMEL, "startLine": 1, "endLine": 2}, (ADD,), (SUB,)),
    Row("Copilot CLI", "view", {**PATH, "view_range": [5, 6]}, (SUB,), (ADD, LAST)),
    Row("Continue", "read_file", {"filepath": "src/app.py"}, (ADD, LAST)),
    Row("Continue", "read_file_range", {"filepath": "src/app.py", "startLine": 5, "endLine": 6},
        (SUB,), (LAST,)),
    Row("Zed", "read_file", {**PATH, "start_line": 5, "end_line": 6}, (SUB,), (LAST,)),
    Row("OpenHands", "str_replace_editor", {"command": "view", **PATH}, (ADD, LAST)),
    Row("OpenHands", "str_replace_editor", {"command": "view", **PATH, "view_range": [5, -1],
        "security_risk": "LOW"}, (SUB, LAST), (ADD,)),
    Row("SWE-agent", "open", {**PATH, "line_number": 9}, (LAST,), (ADD,)),
    Row("MCP filesystem", "read_text_file", {**PATH, "head": 1}, (ADD,), (ADD_BODY,)),
    Row("any", "read_file", {**PATH, "my_comment": "x"}, (ADD, "(Left out: my_comment.)")),
]  # fmt: skip

SEARCHES = [
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "output_mode": "content", "-n": True},
        ("src/app.py:9: LIMIT = 10", "src/util.js:1:"), ("Left out",)),
    Row("Claude Code", "Grep", {"pattern": "limit", "-i": True, "glob": "*.py"},
        ("src/app.py:9:",), ("util.js",)),
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "output_mode": "files_with_matches"},
        ("src/app.py", "src/util.js", "Left out: output_mode")),
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "-A": 2, "-B": 1, "-C": 3, "head_limit": 5},
        ("src/app.py:9:", "-A", "read_file shows the lines around", "head_limit")),
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "type": "py"}, ("src/app.py:9:",), ("util",)),
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "multiline": False, "offset": 0},
        ("src/app.py:9:",), ("Left out",)),
    Row("Claude Code", "Grep", {"pattern": "LIMIT", "path": "{root}/src", "multiline": True},
        ("src/app.py:9:", "line by line")),
    Row("opencode", "grep", {"pattern": "LIMIT", "include": "*.js"}, ("src/util.js",), ("app.py",)),
    Row("gemini-cli", "search_file_content", {"pattern": "LIMIT", "include": "*.py"},
        ("src/app.py:9:",), ("util.js",)),
    Row("gemini-cli", "grep_search", {"pattern": "limit", "dir_path": "src",
        "case_sensitive": False, "total_max_matches": 10}, ("src/app.py:9:", "src/util.js:1:")),
    Row("gemini-cli", "grep_search", {"pattern": "a.b", "fixed_strings": True},
        ("src/util.js:2:",), ("app.py",)),
    Row("codex", "grep_files", {"pattern": "LIMIT", "include": "*.py", "path": "src", "limit": 9},
        ("src/app.py:9:",), ("util.js",)),
    Row("Cline", "search_files", {"path": "src", "regex": "LIM.T", "file_pattern": "*.py"},
        ("src/app.py:9:",), ("util.js",)),
    Row("Roo Code", "search_files", {"path": ".", "regex": "LIM.T", "file_pattern": None},
        ("src/app.py:9:", "src/util.js:1:")),
    Row("Cursor", "grep_search", {"query": "LIMIT", "case_sensitive": True, "include_pattern":
        "*.py", "exclude_pattern": "", "explanation": "find"}, ("src/app.py:9:",), ("util",)),
    Row("Copilot", "grep_search", {"query": "a.b", "isRegexp": False}, ("util.js:2:",), ("app",)),
    Row("Copilot", "grep_search", {"query": "LIM.T", "isRegexp": True, "includePattern": "**/*.py",
        "maxResults": 20}, ("src/app.py:9:",), ("util.js",)),
    Row("Zed", "grep", {"regex": "limit", "include_pattern": "**/*.py", "case_sensitive": False},
        ("src/app.py:9:",)),
    Row("SWE-agent", "search_dir", {"search_term": "LIMIT", "dir": "src"}, ("src/app.py:9:",)),
    Row("Continue", "grep_search", {"query": "LIMIT"}, ("src/app.py:9:",)),
    Row("Claude Code", "Glob", {"pattern": "**/*.py"}, ("src/app.py",), ("util.js",)),
    Row("Claude Code", "Glob", {"pattern": "*.js", "path": "{root}/src"}, ("util.js",)),
    Row("gemini-cli", "glob", {"pattern": "*.py", "case_sensitive": False, "respect_git_ignore":
        True}, ("src/app.py", "Left out: case_sensitive"), ("util.js",)),
    Row("Cursor", "file_search", {"query": "uti", "explanation": "x"}, ("util.js",), ("app.py",)),
    Row("Cursor", "glob_file_search", {"glob_pattern": "*.py", "target_directory": "src"},
        ("src/app.py",), ("util.js",)),
    Row("Copilot", "file_search", {"query": "**/*.js", "maxResults": 5}, ("src/util.js",)),
    Row("Zed", "find_path", {"glob": "**/*.js", "offset": 0}, ("src/util.js",)),
    Row("Continue", "file_glob_search", {"pattern": "*.md"}, ("README.md",)),
    Row("SWE-agent", "find_file", {"file_name": "app.py", "dir": "src"}, ("src/app.py",)),
    Row("Claude Code", "LS", {"path": "{root}/src", "ignore": ["*.js"]},
        ("app.py", "Left out: ignore")),
    Row("gemini-cli", "list_directory", {"dir_path": "src", "ignore": []}, ("app.py", "util.js")),
    Row("codex", "list_dir", {"dir_path": "{root}/src", "depth": 1}, ("app.py",)),
    Row("Cline", "list_files", {"path": "src", "recursive": False}, ("app.py  ",), ("src/app",)),
    Row("Cline", "list_files", {"path": ".", "recursive": True}, ("src/app.py", "README.md")),
    Row("Cursor", "list_dir", {"relative_workspace_path": "src", "explanation": ""}, ("app.py",)),
    Row("Cursor", "list_dir", {"target_directory": "src", "ignore_globs": []}, ("app.py",)),
    Row("Continue", "ls", {"dirPath": "src", "recursive": False}, ("util.js",)),
    Row("opencode", "list", {"path": "src"}, ("util.js",)),
]  # fmt: skip

COMMANDS = [
    Row("Claude Code", "Bash", {"command": "echo hi", "description": "Say hi", "timeout": 120000},
        ("Exit code 0.\nhi",), ("Left out",)),
    Row("Claude Code", "Bash", {"command": "pwd", "run_in_background": False}, ("/proj",)),
    Row("Claude Code", "bash", {"command": "sleep 30", "timeout": 1000}, ("after 1 s",)),
    Row("Cline", "execute_command", {"command": "sleep 30", "timeout": 1, "requires_approval":
        False}, ("after 1 s",)),
    Row("codex", "shell", {"command": ["bash", "-lc", "echo hi | tr h b"], "workdir": "src",
        "timeout_ms": 5000}, ("bi",)),
    Row("codex", "shell", {"command": ["echo", "a  b"], "workdir": None}, ("a  b",)),
    Row("codex", "local_shell", {"command": ["sh", "-c", "exit 3"]}, ("Exit code 3.",)),
    Row("codex", "shell_command", {"command": "basename $PWD", "workdir": "{root}/src", "login":
        False, "timeout_ms": 10000}, ("src",)),
    Row("codex", "exec_command", {"cmd": "echo hi", "yield_time_ms": 1000, "max_output_tokens":
        500, "shell": "bash", "tty": False, "login": True}, ("hi",), ("Left out",)),
    Row("codex", "exec_command", {"cmd": "echo hi", "tty": True}, ("hi", "Left out: tty")),
    Row("codex", "shell", {"command": ["echo", "x"], "with_escalated_permissions": True,
        "justification": "It needs the network."}, ("x",)),
    Row("codex", "exec_command", {"cmd": "echo x", "sandbox_permissions": "use_default"}, ("x",)),
    Row("codex", "shell", {"command": ["apply_patch", PATCH]}, ("Patched",), app=PLUS),
    Row("codex", "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]},
        ("Patched",), app=PLUS),
    Row("gemini-cli", "run_shell_command", {"command": "basename $PWD", "directory": "src",
        "description": "where"}, ("src",)),
    Row("gemini-cli", "run_shell_command", {"command": "echo x", "is_background": False,
        "dir_path": ""}, ("x",)),
    Row("Roo Code", "execute_command", {"command": "echo x", "cwd": None}, ("x",)),
    Row("Cursor", "run_terminal_cmd", {"command": "echo x", "is_background": False,
        "explanation": "try"}, ("x",)),
    Row("Copilot", "run_in_terminal", {"command": "echo x", "explanation": "e", "goal": "g",
        "isBackground": False, "timeout": 0}, ("x",)),
    Row("Copilot CLI", "bash", {"command": "echo x", "mode": "sync", "initial_wait": 30,
        "sessionId": "a"}, ("x",)),
    Row("Continue", "run_terminal_command", {"command": "echo x", "waitForCompletion": True},
        ("x",)),
    Row("Zed", "terminal", {"command": "basename $PWD", "cd": "src"}, ("src",)),
    Row("OpenHands", "execute_bash", {"command": "echo x", "is_input": "false", "timeout": 10,
        "security_risk": "LOW"}, ("x",)),
    Row("SWE-agent", "bash", {"command": "echo x"}, ("x",)),
    Row("MCP", "run_command", {"command": "echo", "args": ["a b"]}, ("a b",)),
    Row("opencode", "bash", {"command": "basename $PWD", "workdir": "src", "timeout": 60000,
        "description": "d"}, ("src",)),
]  # fmt: skip

EDITS = [
    Row("Claude Code", "Edit", {**FILE, "old_string": OLD, "new_string": NEW}, app=PLUS),
    Row("Claude Code", "Edit", {**FILE, "old_string": "a, b", "new_string": "x, y", "replace_all":
        True}, app=APP.replace("a, b", "x, y")),
    Row("Claude Code", "Edit", {"file_path": "new.txt", "old_string": "", "new_string": "hello\n"},
        files={"new.txt": "hello\n"}),
    Row("Claude Code", "MultiEdit", {**FILE, "edits": [{"old_string": OLD, "new_string": NEW},
        {"old_string": "LIMIT = 10", "new_string": "LIMIT = 99", "replace_all": False}]}, app=BOTH),
    Row("opencode", "edit", {**CAMEL, "oldString": OLD, "newString": NEW, "replaceAll": False},
        app=PLUS),
    Row("opencode", "multiedit", {**CAMEL, "edits": [{**CAMEL, "oldString": OLD, "newString":
        NEW}]},
        app=PLUS),
    Row("gemini-cli", "replace", {**FILE, "old_string": OLD, "new_string": NEW, "instruction":
        "Swap them.", "expected_replacements": 1}, app=PLUS),
    Row("gemini-cli", "replace", {**FILE, "old_string": "a, b", "new_string": "x, y",
        "expected_replacements": 2}, app=APP.replace("a, b", "x, y")),
    Row("gemini-cli", "replace", {**FILE, "old_string": "a, b", "new_string": "x, y",
        "expected_replacements": 3}, ("2 times, not 3",)),
    Row("gemini-cli", "replace", {**FILE, "old_string": "a, b", "new_string": "x, y",
        "allow_multiple": True}, app=APP.replace("a, b", "x, y")),
    Row("Cline", "replace_in_file", {**PATH, "diff": CLINE}, app=PLUS),
    Row("Cline", "replace_in_file", {"absolutePath": "{root}/src/app.py", "diff": CLINE,
        "task_progress": "- [x] a"}, app=PLUS),
    Row("Cline", "replace_in_file", {**PATH, "diff": TWO}, app=BOTH),
    Row("Cline", "replace_in_file", {"path": "new.txt", "diff":
        "------- SEARCH\n=======\nhello\n+++++++ REPLACE"}, files={"new.txt": "hello"}),
    Row("Roo Code", "apply_diff", {**PATH, "diff": ROO}, app=PLUS),
    Row("Roo Code", "apply_diff", {**PATH, "diff": f"{ROO}\n\n{ROO}".replace(OLD, "LIMIT = 10", 1)
        .replace(NEW, "LIMIT = 99", 1).replace("line:2", "line:9", 1)}, app=BOTH),
    Row("Roo Code", "search_and_replace", {**PATH, "operations": [{"search": OLD, "replace": NEW}]},
        app=PLUS),
    Row("Roo Code", "search_and_replace", {**PATH, "search": OLD, "replace": NEW, "use_regex":
        False}, app=PLUS),
    Row("Roo Code", "search_replace", {**FILE, "old_string": OLD, "new_string": NEW}, app=PLUS),
    Row("Roo Code", "insert_content", {**PATH, "line": 9, "content": "# The most.\n"},
        app=APP.replace("LIMIT", "# The most.\nLIMIT")),
    Row("Roo Code", "insert_content", {**PATH, "line": 0, "content": "# End."},
        app=APP + "# End.\n"),
    Row("Cursor", "search_replace", {**FILE, "old_string": OLD, "new_string": NEW}, app=PLUS),
    Row("Copilot", "replace_string_in_file", {**CAMEL, "oldString": OLD, "newString": NEW,
        "explanation": "swap"}, app=PLUS),
    Row("Copilot", "multi_replace_string_in_file", {"explanation": "both", "replacements": [
        {**CAMEL, "oldString": OLD, "newString": NEW, "explanation": "one"},
        {**CAMEL, "oldString": "LIMIT = 10", "newString": "LIMIT = 99"}]}, app=BOTH),
    Row("Copilot CLI", "edit", {**PATH, "old_str": OLD, "new_str": NEW}, app=PLUS),
    Row("Continue", "single_find_and_replace", {"filepath": "src/app.py", "old_string": OLD,
        "new_string": NEW, "replace_all": False}, app=PLUS),
    Row("Zed", "edit_file", {**PATH, "display_description": "Swap", "mode": "edit", "edits": [
        {"old_text": OLD, "new_text": NEW}]}, app=PLUS),
    Row("OpenHands", "str_replace_editor", {"command": "str_replace", **PATH, "old_str": OLD,
        "new_str": NEW, "security_risk": "LOW"}, app=PLUS),
    Row("OpenHands", "str_replace_editor", {"command": "str_replace", **PATH, "old_str":
        " - b"}, app=APP.replace(" - b", "")),
    Row("OpenHands", "str_replace_editor", {"command": "insert", **PATH, "insert_line": 0,
        "new_str": "# First."}, app="# First.\n" + APP),
    Row("Claude API", "str_replace_based_edit_tool", {"command": "insert", **PATH, "insert_line": 8,
        "insert_text": "# The most.\n"}, app=APP.replace("LIMIT", "# The most.\nLIMIT")),
    Row("Claude API", "str_replace_based_edit_tool", {"command": "insert", **PATH,
        "insert_line": 99, "insert_text": "x"}, ("no line 99",)),
    Row("aider", "replace_lines", {"explanation": "swap", "edits": [{**PATH,
        "original_lines": [OLD], "updated_lines": [NEW]}]}, app=PLUS),
    Row("aider", "edit_file", {**PATH, "edits": AIDER}, app=PLUS),
    Row("aider", "edit_file", {**PATH, "diff": f"```python\n{AIDER}\n```"}, app=PLUS),
    Row("aider", "apply_patch", {"patch": NAMED}, app=PLUS),
    Row("aider", "apply_diff", {"diff": f"{NAMED}\n\nREADME.md\n<<<<<<< SEARCH\n# Demo\n=======\n"
        "# Other\n>>>>>>> REPLACE\n"}, app=PLUS,
        files={"README.md": "# Other\n\nNo limit here.\n"}),
    Row("aider", "write_file", {**PATH, "content": AIDER}, app=PLUS),
    Row("MCP filesystem", "edit_file", {**PATH, "dryRun": False, "edits": [{"oldText": OLD,
        "newText": NEW}]}, app=PLUS),
    Row("any", "edit_file", {**PATH, "diff": DIFF}, app=PLUS),
    Row("any", "edit_file", {**PATH, "patch": HUNK}, app=PLUS),
    Row("any", "apply_diff", {**PATH, "diff": HUNK}, app=PLUS),
    Row("any", "apply_patch", {"path": "{root}/src/app.py", "diff": DIFF}, app=PLUS),
    Row("codex", "apply_patch", {"input": PATCH}, app=PLUS),
    Row("opencode", "patch", {"patchText": PATCH}, app=PLUS),
    Row("Copilot", "apply_patch", {"input": PATCH, "explanation": "swap"}, app=PLUS),
    Row("Claude Code", "Write", {**FILE, "content": "x = 1\n"}, app="x = 1\n"),
    Row("opencode", "write", {**CAMEL, "content": "x = 1\n"}, app="x = 1\n"),
    Row("gemini-cli", "write_file", {**FILE, "content": "x = 1\n"}, app="x = 1\n"),
    Row("Cline", "write_to_file", {"path": "new.txt", "content": "hi\n", "task_progress": ""},
        files={"new.txt": "hi\n"}),
    Row("Roo Code", "write_to_file", {"path": "new.txt", "content": "hi\n", "line_count": 1},
        files={"new.txt": "hi\n"}),
    Row("Copilot", "create_file", {"filePath": "new.txt", "content": "hi\n"},
        files={"new.txt": "hi\n"}),
    Row("Continue", "create_new_file", {"filepath": "new.txt", "contents": "hi\n"},
        files={"new.txt": "hi\n"}),
    Row("Cursor", "Write", {"path": "new.txt", "contents": "hi\n"}, files={"new.txt": "hi\n"}),
    Row("Zed", "edit_file", {"path": "new.txt", "mode": "create", "content": "hi\n",
        "display_description": "d"}, files={"new.txt": "hi\n"}),
    Row("OpenHands", "str_replace_editor", {"command": "create", "path": "new.txt", "file_text":
        "hi\n"}, files={"new.txt": "hi\n"}),
    Row("Cursor", "delete_file", {"target_file": "README.md", "explanation": "old"},
        files={"README.md": None}),
    Row("Zed", "delete_path", {"path": "README.md"}, files={"README.md": None}),
    Row("Zed", "move_path", {"source_path": "README.md", "destination_path": "docs/a.md"},
        files={"README.md": None, "docs/a.md": FILES["README.md"]}),
    Row("MCP filesystem", "move_file", {"source": "README.md", "destination": "a.md"},
        files={"README.md": None, "a.md": FILES["README.md"]}),
]  # fmt: skip

PLANS = [
    Row("Claude Code", "TodoWrite", {"todos": [
        {"content": "Read", "status": "completed", "activeForm": "Reading"},
        {"content": "Write", "status": "in_progress", "activeForm": "Writing"},
        {"content": "Test", "status": "pending", "activeForm": "Testing"}]}, plan=PLAN),
    Row("opencode", "todowrite", {"todos": [
        {"id": "1", "content": "Read", "status": "completed", "priority": "high"},
        {"id": "2", "content": "Write", "status": "in_progress", "priority": "low"},
        {"id": "3", "content": "Test", "status": "pending", "priority": "low"},
        {"id": "4", "content": "Ship", "status": "cancelled", "priority": "low"}]},
        ("cancelled",), plan=PLAN),
    Row("codex", "update_plan", {"explanation": "so", "plan": [
        {"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"},
        {"step": "Test", "status": "pending"}]}, plan=PLAN),
    Row("gemini-cli", "write_todos", {"todos": [
        {"description": "Read", "status": "completed"},
        {"description": "Write", "status": "in_progress"},
        {"description": "Test", "status": "pending"}]}, plan=PLAN),
    Row("Roo Code", "update_todo_list", {"todos": "[x] Read\n[-] Write\n[ ] Test"}, plan=PLAN),
    Row("Cline", "update_todo_list", {"todos": "- [x] Read\n- [-] Write\n- [ ] Test\n"}, plan=PLAN),
    Row("Cursor", "todo_write", {"merge": False, "todos": [
        {"id": "a", "content": "Read", "status": "completed"},
        {"id": "b", "content": "Write", "status": "in_progress"},
        {"id": "c", "content": "Test", "status": "pending"}]}, plan=PLAN),
    Row("Copilot", "manage_todo_list", {"operation": "write", "todoList": [
        {"id": 1, "title": "Read", "description": "it", "status": "completed"},
        {"id": 2, "description": "it", "title": "Write", "status": "in-progress"},
        {"id": 3, "title": "Test", "description": "", "status": "not-started"}]}, plan=PLAN),
    Row("OpenHands", "task_tracker", {"command": "plan", "task_list": [
        {"id": "1", "title": "Read", "status": "done", "notes": "n"},
        {"id": "2", "title": "Write", "status": "in_progress"},
        {"id": "3", "title": "Test", "status": "todo"}]}, plan=PLAN),
    Row("any", "update_plan", {"steps": json.dumps([{"text": "Read", "status": "x"},
        {"text": "Write", "status": "doing"}, "Test"])}, plan=PLAN),
]  # fmt: skip

REFUSED = [
    Refused("OpenHands", "execute_bash", {"command": "y", "is_input": "true"}, ("no input",)),
    Refused("MCP filesystem", "edit_file", {**PATH, "dryRun": True, "edits": [
        {"oldText": OLD, "newText": NEW}]}, ("dryRun: nothing is tried out",)),
    Refused("Cursor", "edit_file", {"target_file": "src/app.py", "instructions": "Swap.",
        "code_edit": "// ... existing code ...\nx"}, ("code_edit", "old_string and new_string")),
    Refused("Copilot", "insert_edit_into_file", {**CAMEL, "explanation": "e", "code": "x"},
            ("code", "old_string")),
    Refused("Roo Code", "search_and_replace", {**PATH, "search": "a", "replace": "b", "use_regex":
        True}, ("use_regex",)),
    Refused("Roo Code", "apply_diff", {**PATH, "diff": "<<<<<<< SEARCH\na\n>>>>>>> REPLACE"},
            ("no line `=======`",)),
    Refused("Cline", "replace_in_file", {**PATH, "diff": "change it"}, ("SEARCH/REPLACE",)),
    Refused("aider", "edit_file", {"path": "README.md", "diff": NAMED}, ("src/app.py", "README")),
    Refused("Copilot", "multi_replace_string_in_file", {"replacements": [
        {"filePath": "a", "oldString": "x", "newString": "y"},
        {"filePath": "b", "oldString": "x", "newString": "y"}]}, ("one file",)),
    Refused("gemini-cli", "read_many_files", {"paths": ["a", "b"]}, ("one file", "call for each")),
    Refused("gemini-cli", "grep_search", {"pattern": "x", "exclude_pattern": "*.md"}, ("glob",)),
    Refused("Claude Code", "Grep", {"pattern": "x", "type": "abap"}, ("glob instead",)),
    Refused("Cursor", "todo_write", {"merge": True, "todos": [{"id": "1", "status": "completed",
        "content": "x"}]}, ("all items",)),
    Refused("OpenHands", "str_replace_editor", {"command": "undo_edit", **PATH},
            ("opposite edit",)),
    Refused("any", "grep", {"pattern": "x", "only_untracked": True}, ("only_untracked",)),
    Refused("any", "read_file", {**PATH, "start_lines": 3}, ("did you mean start_line?",)),
    Refused("any", "edit_file", {**PATH, "edits": [{"old_string": "a", "new_string": "b", "lien":
        1}]}, ("did you mean line?",)),
    Refused("Claude Code", "TaskCreate", {"subject": "a", "description": "b"},
            ("update_plan", "parameters of update_plan")),
    Refused("Claude Code", "TaskUpdate", {"taskId": "1", "status": "completed"}, ("update_plan",)),
    Refused("Claude Code", "WebSearch", {"query": "q"}, ("no tool searches the web",)),
    Refused("Claude Code", "ExitPlanMode", {"plan": "p"}, ("answer with your closing words",)),
    Refused("Cline", "attempt_completion", {"result": "r"}, ("answer with your closing words",)),
    Refused("any", "grep", {"pattern": "x", "paths": 5}, ("one folder",)),
    Refused("any", "grep", {"pattern": "x", "paths": {"a": 1}}, ("one folder",)),
    Refused("OpenHands", "finish", {"message": "m"}, ("closing words",)),
    Refused("SWE-agent", "submit", {}, ("closing words",)),
    Refused("any", "final_answer", {"answer": "a"}, ("closing words",)),
    Refused("OpenHands", "think", {"thought": "t"}, ("in your answer",)),
    Refused("Cursor", "codebase_search", {"query": "Where is add?", "target_directories": []},
            ("grep does", "parameters of grep")),
    Refused("Copilot", "semantic_search", {"query": "q"}, ("grep does",)),
    Refused("Claude Code", "NotebookEdit", {"notebook_path": "a.ipynb"}, ("edit_file",)),
    Refused("Cline", "browser_action", {"action": "launch"}, ("no tool searches the web",)),
    Refused("gemini-cli", "save_memory", {"fact": "f"}, ("write it into a file",)),
]  # fmt: skip


def _name(row: Row | Refused) -> str:
    return f"{row.agent}-{row.tool}".replace(" ", "-")


def tools_of(place: Place) -> dict[str, Any]:
    workspace = place.workspace
    tools: list[Any] = [
        *(one(workspace) for one in (ReadFile, ListDir, Glob, Grep, EditFile, ApplyPatch)),
        *(one(workspace) for one in (WriteFile, DeleteFile, MoveFile)),
        RunCommand(workspace, ShellRunner()),
        UpdatePlan(),
        AskUser(Ids(lambda: 0)),
    ]
    return {tool.name: tool for tool in tools}


def _call(row: Row | Refused, place: Place) -> ToolCall:
    text = json.dumps(row.given).replace("{root}", str(place.root))
    return ToolCall(id="cal_1", provider_id="1", tool=row.tool, arguments_json=text)


def _begin(place: Place) -> None:
    for path, text in FILES.items():
        place.write(path, text)


def _texts(place: Place) -> dict[str, str]:
    return {
        one.relative_to(place.root).as_posix(): one.read_text()
        for one in place.root.rglob("*")
        if one.is_file()
    }


async def check(row: Row, place: Place) -> None:
    """Carry out the call as the loop does, and assert what the model reads and the files hold."""
    _begin(place)
    tools = tools_of(place)
    planned = plan_call(_call(row, place), tools, ())
    assert not isinstance(planned, ToolResult), planned.text
    try:
        output = await planned.tool.run(planned.arguments, place.context())
        text = f"{output.text}\n{planned.left_out}"
        for edit in output.edits:
            assert (await place.workspace.apply(edit)).status == "applied"
        plans = [one for one in output.events if isinstance(one, PlanUpdated)]
    except ToolError as error:
        text, plans = error.text, []
    for part in row.says:
        assert part in text
    for part in row.lacks:
        assert part not in text
    wanted = {**FILES, **row.files, "src/app.py": row.app}
    assert _texts(place) == {path: whole for path, whole in wanted.items() if whole is not None}
    if row.plan is not None:
        assert [(one.text, str(one.status)) for one in plans[0].items] == list(row.plan)


@pytest.mark.parametrize("row", [*READS, *SEARCHES, *COMMANDS, *EDITS, *PLANS], ids=_name)
async def test_another_agents_call_does_what_it_says(row: Row, place: Place) -> None:
    await check(row, place)


@pytest.mark.parametrize("row", REFUSED, ids=_name)
def test_what_cannot_be_done_is_refused_with_what_to_do(row: Refused, place: Place) -> None:
    _begin(place)
    tools = tools_of(place)
    specs = tuple(spec_of(tool) for tool in tools.values())
    result = plan_call(_call(row, place), tools, specs)
    assert isinstance(result, ToolResult)
    assert result.error is ErrorKind.STRUCTURAL
    for part in row.says:
        assert part in result.text


@pytest.mark.parametrize(
    "given, question, options",
    [
        ({"question": "Which?", "follow_up": [{"text": "a", "mode": None}]}, "Which?", ("a",)),
        ({"question": "Which?", "options": ["a", "b"]}, "Which?", ("a", "b")),
        ({"questions": [{"question": "Which?", "header": "H", "multiSelect": False, "options": [
            {"label": "a", "description": "d"}, {"label": "b", "description": "e"}]}]},
         "Which?", ("a", "b")),
    ],
)  # fmt: skip
async def test_a_question_is_asked_in_its_own_words(
    given: dict[str, Any], question: str, options: tuple[str, ...], place: Place
) -> None:
    row = Row("any", "ask_followup_question", given)
    planned = plan_call(_call(row, place), tools_of(place), ())
    assert not isinstance(planned, ToolResult)
    output = await planned.tool.run(planned.arguments, place.context())
    assert output.question is not None
    assert (output.question.text, output.question.options) == (question, options)


def test_leaving_the_sandbox_is_asked_for_by_any_name(place: Place) -> None:
    tools = tools_of(place)
    for given in (
        {"with_escalated_permissions": True, "justification": "network"},
        {"sandbox_permissions": "require_escalated", "justification": "network"},
        {"dangerouslyDisableSandbox": True, "reason": "network"},
    ):
        row = Row("any", "Bash", {"command": "true", **given})
        planned = plan_call(_call(row, place), tools, ())
        assert not isinstance(planned, ToolResult)
        assert planned.tool.name == "run_command"
        shown = planned.arguments.model_dump(exclude_defaults=True)
        assert shown == {"command": "true", "outside_sandbox": True, "reason": "network"}
