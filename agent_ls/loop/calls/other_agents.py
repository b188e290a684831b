"""Carries out calls of other agents' tools as calls of ours; the names are data.

Models call the tools they were trained with. A call is carried out only where one of our tools does
exactly what it asks for; otherwise its refusal says which tool to call. What the arguments are
called elsewhere is in ``tools/other_words.py``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Container, Mapping
from typing import Any, cast

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.loop.hook_words import CLAUDE_CODE

_Given = dict[str, Any]
_Heard = tuple[str, _Given]

_SAME = {
    "read_file": "view cat open open_file view_file fs_read read_files read_text_file "
    "read_many_files read_multiple_files read_file_range file_read view_image read_image",
    "edit_file": "multi_edit str_replace str_replace_editor str_replace_based_edit_tool "
    "replace replace_in_file search_replace search_and_replace edit_block insert_text editor "
    "file_editor text_editor apply_diff replace_string_in_file multi_replace_string_in_file "
    "single_find_and_replace replace_lines insert_content edit_existing_file "
    "insert_edit_into_file file_edit",
    "write_file": "create create_file create_new_file write_to_file save_file fs_write "
    "new_file put_file file_write",
    "apply_patch": "patch diff apply_unified_diff",
    "run_command": "shell sh exec terminal execute_command execute_bash run_terminal_cmd "
    "run_terminal_command run_shell_command run_in_terminal run_bash local_shell shell_command "
    "exec_command execute run",
    "background": "bash_output get_terminal_output get_command_output task_output "
    "shell_view_output wait_for_command kill_shell kill_bash task_stop",
    "web_fetch": "fetch fetch_url fetch_webpage fetch_url_content url_fetch web_read read_url",
    "list_dir": "list_files list_directory dir tree list",
    "grep": "search search_files grep_search search_file_content ripgrep rg grep_files "
    "search_code search_text find_in_files search_dir",
    "glob": "find find_files file_search glob_search search_file_names find_path find_file "
    "file_glob_search glob_file_search",
    "delete_file": "delete remove remove_file rm unlink delete_path",
    "move_file": "move rename rename_file mv move_path",
    "update_plan": "todo update_todo_list write_todos manage_todo_list task_tracker plan",
    "ask_user": "ask_followup_question request_user_input ask question",
    "delegate": "agent sub_agent dispatch_agent spawn_agent",
    "diagnostics": "get_errors read_lints get_diagnostics problems",
    "skill": "use_skill activate_skill",
    "repository_map": "view_repo_map",
}
"""Our tool and the others' names of it; what a call asks for may still need another of ours."""

_LIKE = {
    "grep": "codebase_search semantic_search code_search search_codebase",
    "outline": "list_code_definition_names document_symbols",
    "references": "find_references list_code_usages",
    "find_symbol": "go_to_definition workspace_symbols",
    "update_plan": "task_create task_update task_list task_get todo_read",
    "edit_file": "notebook_edit edit_notebook_file reapply undo_edit",
    "read_file": "notebook_read read_notebook",
    "delegate": "new_task codebase_investigator",
    "run_command": "execute_ipython_cell run_tests copy_path",
    "read_output": "read_command_output",
}
"""Our tool and names of tools that do something like it; the refusal names ours."""

_FINISH = "to finish, answer with your closing words and call no tool"
_ABSENT = {
    "no tool searches the web; read a page with web_fetch; or ask_user": "web_search "
    "google_web_search search_web browser browser_action open_simple_browser",
    "a program gets no input; start it again with run_command and write the input into the "
    "command": "write_stdin",
    _FINISH: "attempt_completion "
    "final_answer finish submit complete_task task_complete done plan_mode_respond "
    "exit_plan_mode",
    "say it in your answer instead": "think thinking sequential_thinking report_intent",
    "the user chooses the mode; go on in this one": "enter_plan_mode switch_mode",
    "write it into a file of the project if the user wants it kept": "save_memory update_memory "
    "memory",
    "no tool makes images": "generate_image image_generation",
    "folders are made with the files in them; call write_file": "create_directory make_dir mkdir",
    "a server's tool is called by its own name": "use_mcp_tool access_mcp_resource "
    "load_mcp_documentation",
}
"""Why there is no such tool here and what to do instead, and the names it answers.

A clause that names a tool is left out where that tool is not offered.
"""

_PATHS = ("path", "filepath", "filename", "file", "targetfile", "absolutepath", "notebookpath")
_TEXTS = ("diff", "patch", "edits", "input", "patchtext", "blocks")
_VIEWS = re.compile(r'"command"\s*:\s*"(view|create)"')
_SEARCH_LINE = re.compile(r"^[<-]{5,9} ?(?:SEARCH|ORIGINAL)\b", re.MULTILINE)
_ONLY_BLOCKS = re.compile(
    r"\s*(?:```\w*\n)?[<-]{5,9} ?SEARCH\b.*[>+]{5,9} ?REPLACE\s*(?:```\s*)?", re.DOTALL
)
_HERE_PATCH = re.compile(r"\s*apply_patch <<\s*(['\"]?)(\w+)\1\n(.*\n)\2\s*", re.DOTALL)
_SHELLS = ("bash", "sh", "zsh")


def plain(name: str) -> str:
    """Return a name without its style: ``filePath``, ``file_path`` and ``file-path`` are one."""
    return name.lower().replace("_", "").replace("-", "")


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    return {plain(name): key for key, listed in names.items() for name in listed.split()}


_OURS = {
    **_by_name(_SAME),
    **{plain(theirs): ours[0] for theirs, ours in CLAUDE_CODE.items()},
    **{plain(name): name for name in _SAME},
}
_NEAR = _by_name(_LIKE)
_NOT_HERE = _by_name(_ABSENT)


def name_here(name: str) -> str:
    """Return our name of another agent's tool, or of ours; empty when none is known."""
    bare = plain(name.rpartition(".")[2])
    return _OURS.get(bare) or _NEAR.get(bare, "")


def counterpart(name: str, arguments_json: str, tools: Container[str]) -> str:
    """Return our tool that does what another agent's tool does; empty when none is known."""
    ours = name_here(name)
    if ours == "edit_file" and (command := _VIEWS.search(arguments_json)):
        # Some agents use one tool for viewing, creating and editing.
        ours = "read_file" if command[1] == "view" else "write_file"
    return ours if ours in tools else ""


def why_absent(name: str, offered: Container[str]) -> str:
    """Return what to do instead of calling a tool that has no counterpart here; else empty."""
    why = _NOT_HERE.get(plain(name.rpartition(".")[2]), "")
    if why == _FINISH and "final_output" in offered:
        return "to finish, call final_output"
    return "; ".join(
        clause
        for clause in why.split("; ")
        if all(name in offered for name in _SAME if name in clause.split())
    )


def in_our_words(call: ToolCall, tools: Container[str]) -> ToolCall:
    """Return the call as one of our tools carries it out; unchanged where that is not certain.

    The arguments keep their names. Errors: ``ValueError`` that says what to call instead, where
    the call is understood but nothing here does it.
    """
    bare = call.tool.rpartition(".")[2]
    ours = call.tool if call.tool in tools else _OURS.get(plain(bare), "")
    if ours not in tools:
        return call
    given = parse_arguments(call.arguments_json)
    if not given and call.arguments_json.strip() not in ("", "{}"):
        return call
    tool, heard = ours, given
    for form in _FORMS.get(ours, ()):
        tool, heard = form(tool, dict(heard), plain(bare))
        if tool != ours:
            break
    if tool not in tools or (tool, heard) == (call.tool, given):
        return call
    text = json.dumps(heard, ensure_ascii=False) if heard != given else call.arguments_json
    return call.model_copy(update={"tool": tool, "arguments_json": text or "{}"})


def _pop(given: _Given, *names: str) -> Any:
    """Take out the first argument that has one of these plain names; None without one."""
    found = next((key for key in given if plain(key) in names), None)
    return None if found is None else given.pop(found)


def _has(given: _Given, *names: str) -> bool:
    return any(plain(key) in names for key in given)


def _editor_verb(tool: str, given: _Given, name: str) -> _Heard:
    """One tool for everything: what it does is in its argument ``command``."""
    match given.get("command"):
        case "view":
            del given["command"]
            return "read_file", given
        case "create":
            del given["command"]
            return "write_file", given
        case "str_replace":
            del given["command"]
            if not _has(given, "newstr", "newstring", "newtext", "new"):
                # By its definition nothing takes the place of the old text then.
                given["new_str"] = ""
        case "insert":
            del given["command"]
        case "undo_edit":
            raise ValueError("undo_edit is not possible here: make the opposite edit")
        case _:
            pass
    return tool, given


def _whole_text(tool: str, given: _Given, name: str) -> _Heard:
    """Zed's and similar edit tools write a whole file in another mode."""
    if given.get("mode") in ("create", "overwrite", "write") and _has(given, "content"):
        del given["mode"]
        return "write_file", given
    if given.get("mode") == "edit":
        del given["mode"]
    return tool, given


def _inserted(tool: str, given: _Given, name: str) -> _Heard:
    """Roo Code inserts before a line and takes 0 for the end; others insert behind a line."""
    if name == "insertcontent" and isinstance(line := given.get("line"), int):
        del given["line"]
        given |= {"insert_line": line - 1, "insert_text": _pop(given, "content", "text")}
    return tool, given


def _of_one_file(tool: str, given: _Given, name: str) -> _Heard:
    """Lift the path out of a list of edits that each name their file."""
    key = next((k for k in given if plain(k) in ("replacements", "operations", "edits")), None)
    edits: Any = given.get(key) if key else None
    if key is None or not isinstance(edits, list):
        return tool, given
    found: list[Any] = []
    paths: list[str] = []
    for edit in cast("list[Any]", edits):
        if isinstance(edit, dict):
            edit = dict(cast("_Given", edit))
            if isinstance(path := _pop(edit, *_PATHS), str):
                paths.append(path)
        found.append(edit)
    if len(set(paths)) > 1:
        raise ValueError("one call of edit_file changes one file: make a call for each file")
    del given[key]
    given["edits"] = found
    if paths and not _has(given, *_PATHS):
        given["path"] = paths[0]
    return tool, given


def _as_text(tool: str, given: _Given, name: str) -> _Heard:
    """Blocks and diffs of one file: blocks are edits, a diff is a patch of that file."""
    key = next((k for k in given if plain(k) in _TEXTS), None)
    text = given.get(key) if key else None
    if key is None or not isinstance(text, str) or text.lstrip().startswith(("[", "{")):
        return tool, given
    if _SEARCH_LINE.search(text):
        if not _has(given, *_PATHS):
            return "apply_patch", given | {"patch": given.pop(key)}
        return "edit_file", given | {"diff": given.pop(key)}
    if tool == "apply_patch" or re.search(r"^(?:@@|\*\*\* |--- )", text, re.MULTILINE):
        return "apply_patch", given | {"patch": given.pop(key)}
    return tool, given


def _blocks_as_content(tool: str, given: _Given, name: str) -> _Heard:
    """A whole text that is nothing but blocks is meant as edits of the file."""
    text = given.get("content")
    if isinstance(text, str) and _ONLY_BLOCKS.fullmatch(text):
        return "edit_file", given | {"diff": given.pop("content")}
    return tool, given


def _patch_as_command(tool: str, given: _Given, name: str) -> _Heard:
    """codex calls its patch tool as a command."""
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):
        words = cast("list[Any]", command)
        if len(words) == 2 and words[0] == "apply_patch" and isinstance(words[1], str):
            return "apply_patch", {"patch": words[1]}
        if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc"):
            command = words[2]
    is_here = "workdir" not in given or given["workdir"] in ("", ".", None)
    if isinstance(command, str) and is_here and (match := _HERE_PATCH.fullmatch(command)):
        return "apply_patch", {"patch": match[3]}
    return tool, given


def _stopped(tool: str, given: _Given, name: str) -> _Heard:
    """Others have a tool for the end of what runs in the background."""
    if name in ("killshell", "killbash", "taskstop"):
        given.setdefault("action", "stop")
    return tool, given


def _below(tool: str, given: _Given, name: str) -> _Heard:
    """A folder with all that is below it is what glob lists."""
    key = next((k for k in given if plain(k) == "recursive"), None)
    if key is None and name != "tree":
        return tool, given
    is_deep = given.pop(key) if key else True
    if is_deep in (True, "true"):
        return "glob", given | {"pattern": "**"}
    return tool, given


def _one_of_files(tool: str, given: _Given, name: str) -> _Heard:
    """A list of files with one entry is that file."""
    key = next((k for k in given if plain(k) in ("paths", "files")), None)
    files: Any = given.get(key) if key else None
    if key is None or not isinstance(files, list):
        return tool, given
    listed = cast("list[Any]", files)
    if len(listed) != 1:
        raise ValueError("one call of read_file reads one file: make a call for each")
    del given[key]
    one = listed[0]
    return tool, given | (cast("_Given", one) if isinstance(one, dict) else {"path": one})


_Form = Callable[[str, _Given, str], _Heard]
_FORMS: Mapping[str, tuple[_Form, ...]] = {
    "read_file": (_one_of_files,),
    "edit_file": (_editor_verb, _whole_text, _inserted, _of_one_file, _as_text),
    "write_file": (_blocks_as_content,),
    "apply_patch": (_as_text,),
    "run_command": (_patch_as_command,),
    "background": (_stopped,),
    "list_dir": (_below,),
}
"""Forms of a call that need another tool or another shape of the arguments, by our tool."""


def shell_line(words: list[str]) -> str:
    """Return the command line of a list of words; a shell's script is the line itself."""
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)
