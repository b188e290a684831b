"""Maps other agents' tool names to ours.

Models call the tools they were trained with. Such a call is never run under our name: its result
names our tool and its parameters, and the model decides.
"""

from __future__ import annotations

import re
from collections.abc import Container

_NAMES = {
    "read_file": "read view cat open open_file view_file fs_read read_files read_text_file",
    "edit_file": "edit multi_edit str_replace str_replace_editor str_replace_based_edit_tool "
    "replace replace_in_file search_replace search_and_replace edit_block insert_text editor",
    "write_file": "write create create_file write_to_file save_file fs_write new_file put_file",
    "apply_patch": "patch apply_diff diff apply_unified_diff",
    "run_command": "bash shell sh exec terminal execute_command execute_bash run_terminal_cmd "
    "run_shell_command run_in_terminal run_bash local_shell execute run",
    "list_dir": "ls list_files list_directory dir tree list",
    "grep": "search search_files grep_search codebase_search search_file_content ripgrep rg "
    "search_code search_text find_in_files",
    "glob": "find find_files file_search glob_search search_file_names",
    "delete_file": "delete remove remove_file rm unlink",
    "move_file": "move rename rename_file mv",
    "update_plan": "todo_write todo update_todo_list write_todos plan",
    "ask_user": "ask_followup_question ask_user_question ask question",
    "delegate": "task agent new_task sub_agent dispatch_agent",
    "diagnostics": "get_errors read_lints get_diagnostics problems",
}
_OURS = {
    "".join(name.split("_")): ours
    for ours, names in _NAMES.items()
    for name in (ours, *names.split())
}


_VIEWS = re.compile(r'"command"\s*:\s*"(view|create)"')


def name_here(name: str) -> str:
    """Return our name of another agent's tool, or of ours; empty when none is known."""
    plain = name.rpartition(".")[2].lower().replace("_", "").replace("-", "")
    return _OURS.get(plain, "")


def counterpart(name: str, arguments_json: str, tools: Container[str]) -> str:
    """Return our tool that does what another agent's tool does; empty when none is known."""
    ours = name_here(name)
    if ours == "edit_file" and (command := _VIEWS.search(arguments_json)):
        # Some agents use one tool for viewing, creating and editing.
        ours = "read_file" if command[1] == "view" else "write_file"
    return ours if ours in tools else ""
