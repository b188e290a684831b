"""What other agents call the arguments of our tools, as one table, and how their values are read.

Models write the arguments they were trained with. What means the same is read so; what has no
effect here is left out, with a note where that can be missed; what would change the meaning is
refused with what to do instead. None of it is in the schema that models are sent. Which tool
carries out a call is in ``loop/calls/other_agents.py``.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agent_ls.edits.blocks import parse_blocks
from agent_ls.edits.requests import Refused
from agent_ls.loop.calls.other_agents import plain, shell_line

_Given = dict[str, Any]
_Read = Callable[[_Given], str]
"""Changes the arguments to ours. Returns a note on what is left out, else an empty text."""

_FILE = "file_path filepath filename file target_file absolute_path target_path file_name"
_FOLDER = (
    "directory dir folder dir_path directory_path target_directory relative_workspace_path "
    "folder_path root_path absolute_path file_path"
)
_CUT = "head_limit max_results limit max_count max_matches total_max_matches max_matches_per_file"


@dataclass(frozen=True, slots=True)
class Words:
    """Names of one tool's arguments; each matches in every style, as ``filePath``."""

    same: Mapping[str, str] = field(default_factory=dict[str, str])
    """Our argument, and what others call it, the likeliest first."""
    silent: str = ""
    """Left out; nothing is lost by it."""
    noted: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why they have no effect, and the arguments; left out with a note."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to do instead, and the arguments; they would change what the call does."""
    reads: tuple[_Read, ...] = ()
    beside: tuple[str, ...] = ()
    """Arguments that the tool knows but does not offer."""


_EXPLAINS = (
    "description explanation justification instruction instructions reason reasoning thought "
    "thoughts rationale purpose goal summary title task_progress display_description intent "
    "security_risk safety_risk requires_approval tool_summary tool_action wait_for_previous_tools"
)
"""Say why a call is made, or how dangerous it is: the settings decide what is asked for."""
_MAY_EXPLAIN = re.compile(
    r"(?:^_|(?:^|_)(?:comment|comments|note|notes|message|label|why|thinking|caption|"
    r"confidence|metadata|description|explanation|reason|reasoning|request_id|call_id|trace_id)$)",
    re.I,
)
_ALWAYS_REFUSED = {
    "nothing is tried out here; leave it out, and the user is asked where needed": "dry_run "
    "simulate preview_only check_only",
}
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_OFF: tuple[Any, ...] = (*_NOTHING, False, 0, "false", "False", "no", "none", "0")


def in_our_words(
    words: Words, fields: Collection[str], data: Mapping[str, Any], *, explains: bool = True
) -> tuple[_Given, str, _Given]:
    """Return the arguments by our names, a note on what was left out, and those kept beside.

    Errors: ``ValueError`` for an argument that would change what the call does.
    """
    given = _renamed(words, fields, data)
    notes = [note for read in words.reads if (note := read(given))]
    refused = _named({**_ALWAYS_REFUSED, **words.refused})
    noted = _named(words.noted)
    silent = {plain(name) for name in f"{words.silent} {_EXPLAINS if explains else ''}".split()}
    left_out: dict[str, list[str]] = {}
    for name in [name for name in given if name not in fields and name not in words.beside]:
        bare, value = plain(name), given[name]
        is_off = value in (_OFF if bare in noted or bare in refused else _NOTHING)
        if bare in silent or is_off:
            del given[name]
        elif bare in noted:
            left_out.setdefault(noted[bare], []).append(name)
            del given[name]
        elif bare in refused:
            raise ValueError(f"{name}: {refused[bare]}")
        elif explains and _MAY_EXPLAIN.search(name):
            left_out.setdefault("", []).append(name)
            del given[name]
    notes += [", ".join(names) + (f", as {why}" if why else "") for why, names in left_out.items()]
    beside = {name: given.pop(name) for name in words.beside if name in given}
    return given, "; ".join(notes), beside


def _named(table: Mapping[str, str]) -> dict[str, str]:
    return {plain(name): why for why, names in table.items() for name in names.split()}


def _renamed(words: Words, fields: Collection[str], data: Mapping[str, Any]) -> _Given:
    given = dict(data)
    by_plain: dict[str, str] = {}
    for name in data:
        by_plain.setdefault(plain(name), name)
    for ours in (*fields, *(name for name in words.same if name not in fields)):
        for other in (ours, *words.same.get(ours, "").split()):
            theirs = by_plain.get(plain(other))
            if theirs is None or theirs not in given or (theirs in fields and theirs != ours):
                continue
            if ours not in given:
                given[ours] = given.pop(theirs)
            elif theirs != ours and given[theirs] == given[ours]:
                del given[theirs]
    return given


def _whole(value: Any) -> int | None:
    """Return a whole number, also one that was written as text; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d+\s*", value):
        return int(value)
    return int(value) if isinstance(value, int | float) and value == int(value) else None


def _texts(value: Any) -> list[str] | None:
    """Return a list of texts; None for anything else."""
    listed = cast("list[Any]", value) if isinstance(value, list) else None
    return listed if listed is not None and all(isinstance(one, str) for one in listed) else None


def _line_range(given: _Given) -> str:
    """A range by its last line, as a pair or as a text; 0 and -1 are its open ends."""
    span: Any = given.get("view_range")
    if isinstance(span, str):
        numbers = [int(one) for one in re.findall(r"-?\d+", span.replace("-", " ", 1))]
        span = numbers if len(numbers) == 2 else span
    if isinstance(span, list) and len(cast("list[Any]", span)) == 2:
        given["start_line"], given["end_line"] = cast("list[Any]", span)
        del given["view_range"]
    if given.pop("should_read_entire_file", None) in (True, "true"):
        for name in ("start_line", "end_line", "lines"):
            given.pop(name, None)
    if "start_line" not in given and (offset := given.pop("offset", None)) is not None:
        # Some count from 0, and then see one line more.
        given["start_line"] = 1 if _whole(offset) == 0 else offset
    end = _whole(given.get("end_line"))
    if end is None:
        return ""
    del given["end_line"]
    start = _whole(given.get("start_line", 1))
    if end != -1 and start is not None and "lines" not in given:
        if end < start:
            raise ValueError(f"the last line, {end}, is above the first, {start}")
        given["lines"] = end - start + 1
    return ""


def _one_range(given: _Given) -> str:
    """A list of ranges with one entry is that range."""
    ranges: Any = given.pop("line_ranges", None)
    if isinstance(ranges, list):
        listed = cast("list[Any]", ranges)
        if len(listed) > 1:
            raise ValueError("line_ranges: make a call for each range, with start_line and lines")
        ranges = listed[0] if listed else None
    if isinstance(ranges, dict):
        one = cast("_Given", ranges)
        ranges = [one.get("start"), one.get("end")]
    if ranges is not None:
        given["view_range"] = ranges
    return ""


def _command_line(given: _Given) -> str:
    """A list of words is a command line; further words may stand apart from it."""
    words = given.pop("args", None)
    if (command := _texts(given.get("command"))) is not None:
        given["command"] = shell_line(command)
    if isinstance(words, list) and words and isinstance(given.get("command"), str):
        given["command"] += " " + shell_line([str(one) for one in cast("list[Any]", words)])
    return ""


def _limit(given: _Given) -> str:
    """``timeout`` has no unit: from 1,000 on it counts milliseconds, below that seconds."""
    for name, per_second in (("timeout_ms", 1_000.0), ("timeout", 0.0)):
        value: Any = given.get(name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            continue
        del given[name]
        if number > 0 and "timeout_s" not in given:
            given["timeout_s"] = number / (per_second or (1_000.0 if number >= 1_000 else 1.0))
    return ""


def _beyond_sandbox(given: _Given) -> str:
    """codex and Claude Code ask to leave the sandbox by other names; the user decides as always."""
    asked = [
        given.pop(name, None) for name in ("with_escalated_permissions", "sandbox_permissions")
    ]
    if asked[0] in (True, "true") or asked[1] == "require_escalated":
        given.setdefault("outside_sandbox", True)
        given.setdefault("reason", given.pop("justification", None) or "")
    return ""


def _started(given: _Given) -> str:
    if given.get("cwd") == "":
        del given["cwd"]
    if given.pop("wait_for_completion", True) in (False, "false") or given.get("mode") == "async":
        given["background"] = True
    match given.get("background"):
        case True | "true":
            # Elsewhere the tool makes up an id; here the command's own words are the name.
            slug = re.sub(r"[^A-Za-z0-9]+", "-", str(given.get("command", ""))).strip("-")
            given["background"] = slug[:30].strip("-") or "program"
        case False | "false" | "":
            del given["background"]
        case _:
            pass
    return ""


_TYPES = {
    "py": "*.{py,pyi}", "python": "*.{py,pyi}", "js": "*.{js,jsx,cjs,mjs,vue}",
    "ts": "*.{ts,tsx,cts,mts}", "typescript": "*.{ts,tsx,cts,mts}", "tsx": "*.tsx", "jsx": "*.jsx",
    "javascript": "*.{js,jsx,cjs,mjs,vue}", "go": "*.go", "rust": "*.rs", "rs": "*.rs",
    "java": "*.java", "kotlin": "*.{kt,kts}", "ruby": "*.rb", "rb": "*.rb", "php": "*.php",
    "cs": "*.cs", "csharp": "*.cs", "swift": "*.swift", "c": "*.{c,h}", "lua": "*.lua",
    "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl}", "css": "*.{css,scss}", "html": "*.{html,htm}",
    "md": "*.{md,mdx,markdown}", "markdown": "*.{md,mdx,markdown}", "json": "*.json",
    "yaml": "*.{yaml,yml}", "toml": "*.toml", "sql": "*.sql", "txt": "*.txt", "xml": "*.xml",
}  # fmt: skip
"""ripgrep's types of files, as far as one pattern for names says the same."""
_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")


def _file_type(given: _Given) -> str:
    kind = given.get("type")
    if not isinstance(kind, str) or not kind:
        return ""
    if kind.lower() not in _TYPES or given.get("glob"):
        raise ValueError(f"type: give the files as glob instead, such as *.{kind}")
    given["glob"] = _TYPES[given.pop("type").lower()]
    return ""


def _literally(given: _Given) -> str:
    """A text that is no regular expression is written as one."""
    is_text = given.pop("is_regexp", True) in (False, "false")
    is_text |= given.pop("fixed_strings", False) in (True, "true")
    if is_text and isinstance(pattern := given.get("pattern"), str):
        given["pattern"] = _SPECIAL.sub(r"\\\1", pattern)
    return ""


def _case(given: _Given) -> str:
    if (is_told := given.pop("case_sensitive", None)) is not None:
        given.setdefault("ignore_case", is_told in (False, "false"))
    return ""


def _case_of_names(given: _Given) -> str:
    is_free = given.pop("case_sensitive", None) in (False, "false")
    return "case_sensitive, as names are compared as they are written" if is_free else ""


def _mode_of_output(given: _Given) -> str:
    mode = given.pop("output_mode", "content")
    return "" if mode in ("content", None) else "output_mode, as each matching line is shown"


def _one_folder(given: _Given) -> str:
    """A list of folders with one entry is that folder."""
    folders: Any = given.pop("target_directories", None)
    if isinstance(folders, str):
        folders = [folders]
    if folders is not None and not isinstance(folders, list):
        raise ValueError("give one folder as path")
    listed = cast("list[Any]", folders or [])
    if len(listed) > 1:
        raise ValueError("make a call for each folder, with path")
    if listed:
        given.setdefault("path", listed[0])
    if given.get("path") == "" or ("path" in given and given["path"] is None):
        del given["path"]
    return ""


def _part_of_name(given: _Given) -> str:
    """A name without wildcards is looked for anywhere in names, as Cursor does."""
    part = given.pop("query", None)
    if isinstance(part, str) and part and "pattern" not in given:
        is_plain = not re.search(r"[*?\[/]", part)
        given["pattern"] = f"*{part}*" if is_plain else part
    return ""


def _old_and_new(given: _Given) -> str:
    """Lines as a list are a text; a number of expected places means all of them."""
    for name in ("old_string", "new_string"):
        value: Any = given.get(name)
        if (lines := _texts(value)) is not None:
            given[name] = "\n".join(lines)
    expected = _whole(given.get("expected"))
    if expected is not None and expected > 1:
        given["replace_all"] = True
    elif "expected" in given:
        del given["expected"]
    return ""


def _insertion(given: _Given) -> str:
    line = _whole(given.get("insert_line"))
    if line is not None:
        given["insert_line"] = line
        given.setdefault("old_string", "")
    elif "insert_line" in given:
        raise ValueError("insert_line: it is the number of a line")
    return ""


def _blocks(given: _Given) -> str:
    """SEARCH/REPLACE blocks are edits."""
    text = given.get("diff")
    found = parse_blocks(text) if isinstance(text, str) else None
    if found is None:
        return ""
    if isinstance(found, Refused):
        raise ValueError(found.reason)
    path = given.get("path")
    paths = {one.path for one in found if one.path}
    other = next((one for one in paths if not is_same_file(one, str(path))), None)
    if other is not None and path is not None:
        raise ValueError(f"the blocks change {other}, but path says {path}")
    del given["diff"]
    given["edits"] = [
        {"old_string": one.old, "new_string": one.new}
        | ({} if one.line is None else {"line": one.line})
        for one in found
    ]
    return ""


def is_same_file(one: str, other: str) -> bool:
    """Tell whether two paths can name one file: one may be given from further up."""
    short, long = sorted((posixpath.normpath(one), posixpath.normpath(other)), key=len)
    return long == short or long.endswith(f"/{short}")


def _single_edit(given: _Given) -> str:
    """A single replacement beside the path is the list that it could have been in."""
    if "edits" in given:
        return ""
    names = _plain_names("edit") | {plain(name) for name in _EDIT_FIELDS}
    moved = {name: given.pop(name) for name in list(given) if plain(name) in names}
    if moved:
        given["edits"] = [moved]
    return ""


_EDIT_FIELDS = ("old_string", "new_string", "line", "replace_all", "insert_line", "expected")


def _plain_names(tool: str) -> set[str]:
    return {plain(name) for names in WORDS[tool].same.values() for name in names.split()}


_STATUSES = {
    **dict.fromkeys(("not-started", "not_started", "todo", "open", "new", " ", ""), "pending"),
    **dict.fromkeys(("in-progress", "doing", "active", "started", "-", "~", ">"), "in_progress"),
    **dict.fromkeys(("complete", "done", "finished", "x", "X"), "completed"),
}
_CANCELLED = ("cancelled", "canceled", "deleted", "skipped")
_CHECKED = re.compile(r"^\s*(?:[-*]|\d+[.)])?\s*\[(.)\]\s*(.+?)\s*$")


def _listed_plan(given: _Given) -> str:
    """Steps as a checklist or as plain texts; cancelled ones are no longer part of the plan."""
    items: Any = given.get("items")
    if isinstance(items, str) and not items.lstrip().startswith(("[{", "{", '["')):
        lines = [match for line in items.splitlines() if (match := _CHECKED.match(line))]
        if lines:
            items = [{"text": line[2], "status": line[1]} for line in lines]
    elif isinstance(items, str):
        try:
            items = json.loads(items)
        except ValueError:
            return ""
    if not isinstance(items, list):
        return ""
    found = [{"text": one} if isinstance(one, str) else one for one in cast("list[Any]", items)]
    kept = [one for one in found if not _is_cancelled(one)]
    given["items"] = kept
    return "" if len(kept) == len(found) else "cancelled items, as the plan is what is left to do"


def _is_cancelled(item: Any) -> bool:
    return isinstance(item, dict) and cast("_Given", item).get("status") in _CANCELLED


def _status(given: _Given) -> str:
    status = given.get("status")
    if isinstance(status, str):
        given["status"] = _STATUSES.get(status, status)
    elif status is None:
        given.pop("status", None)
    return ""


def _question(given: _Given) -> str:
    """One question in a list, and answers with descriptions."""
    questions: Any = given.get("questions")
    if isinstance(questions, list) and "question" not in given:
        listed = cast("list[Any]", questions)
        if len(listed) != 1:
            raise ValueError("ask one question in a call")
        del given["questions"]
        one = listed[0]
        given |= cast("_Given", one) if isinstance(one, dict) else {"question": one}
        if "question" not in given and "text" in given:
            given["question"] = given.pop("text")
    options: Any = given.get("options")
    if isinstance(options, list):
        given["options"] = [_answer(one) for one in cast("list[Any]", options)]
    return ""


def _answer(option: Any) -> Any:
    if not isinstance(option, dict):
        return option
    known = cast("_Given", option)
    names = ("label", "text", "answer", "value")
    return next((known[name] for name in names if name in known), cast("Any", option))


def _kind(given: _Given) -> str:
    if isinstance(kind := given.get("kind"), str):
        given["kind"] = kind.lower()
    return ""


def _single_path(given: _Given) -> str:
    if isinstance(paths := given.get("paths"), str) and not paths.lstrip().startswith("["):
        given["paths"] = [paths]
    return ""


_SYMBOL = "symbol query name_path symbol_name"

WORDS: Mapping[str, Words] = {
    "": Words({"path": _FILE}),
    "read_file": Words(
        {
            "path": _FILE,
            "start_line": "start_line_one_indexed line_start line_number start",
            "lines": "limit line_count num_lines max_lines head",
            "end_line": "end_line_one_indexed_inclusive line_end end",
            "view_range": "line_range range",
            "offset": "",
            "line_ranges": "",
            "should_read_entire_file": "read_entire_file",
        },
        silent="encoding include_line_numbers show_line_numbers respect_git_ignore "
        "file_filtering_options recursive use_default_excludes",
        refused={
            "give start_line and lines": "tail indentation anchor_line pages cell",
            "name each file by its path": "include exclude",
        },
        reads=(_one_range, _line_range, lambda given: _mode(given, "slice")),
    ),
    "grep": Words(
        {
            "pattern": "regex query search_term search_pattern regexp",
            "path": f"{_FOLDER} {_FILE} search_path",
            "glob": "include include_pattern file_pattern include_glob file_glob",
            "ignore_case": "-i case_insensitive insensitive",
            "case_sensitive": "",
            "is_regexp": "is_regex use_regex",
            "fixed_strings": "literal is_literal -F",
            "type": "file_type",
            "output_mode": "",
            "target_directories": "paths directories search_directories",
        },
        silent="-n line_numbers show_line_numbers recursive respect_git_ignore",
        noted={
            "each matching line is shown": "names_only files_with_matches -l count -c",
            "read_file shows the lines around": "-A -B -C context after before context_lines",
            "whole lines are shown": "-o only_matching",
            "the search shows as many lines as it can": _CUT,
            "the list begins with its first line": "offset",
            "the pattern is matched line by line": "multiline -U",
            "ignored files are left out": "include_ignored_files no_ignore",
        },
        refused={
            "choose the files with glob": "exclude exclude_pattern exclude_patterns exclude_glob",
            "write it as a regular expression": "-v invert invert_match -w word word_regexp",
        },
        reads=(_one_folder, _literally, _case, _file_type, _mode_of_output),
    ),
    "glob": Words(
        {
            "pattern": "glob_pattern glob file_pattern name file_name filename regex name_pattern",
            "path": f"{_FOLDER} search_path root",
            "query": "",
            "target_directories": "directories",
            "case_sensitive": "",
        },
        silent="recursive respect_git_ignore respect_gemini_ignore file_filtering_options sort "
        "offset",
        noted={
            "the list is as long as it can be": _CUT,
            "ignored files are left out": "include_ignored_files no_ignore",
        },
        refused={"narrow the pattern": "exclude exclude_pattern exclude_patterns ignore type"},
        reads=(_one_folder, _part_of_name, _case_of_names),
    ),
    "list_dir": Words(
        {"path": _FOLDER + " file"},
        silent="recursive respect_git_ignore file_filtering_options show_hidden all offset",
        noted={
            "all entries of the folder are listed": f"ignore ignore_globs exclude depth max_depth "
            f"{_CUT}",
        },
        reads=(_one_folder,),
    ),
    "run_command": Words(
        {
            "command": "cmd command_line script shell_command",
            "cwd": "workdir directory dir_path working_directory working_dir cd dir",
            "timeout": "",
            "timeout_ms": "",
            "timeout_s": "timeout_seconds timeout_sec",
            "args": "arguments argv",
            "with_escalated_permissions": "",
            "sandbox_permissions": "",
            "outside_sandbox": "dangerously_disable_sandbox",
            "wait_for_completion": "",
            "background": "run_in_background is_background",
        },
        silent="login shell yield_time_ms max_output_tokens prefix_rule max_output_chars "
        "require_user_approval mode initial_wait session_id sudo",
        noted={
            "a command gets no terminal": "tty",
            "each command has a shell of its own": "reset restart new_shell",
        },
        refused={
            "a command gets no input; write it into the command": "stdin input is_input",
            "set variables in the command, as in NAME=value program": "env environment",
        },
        reads=(_command_line, _started, _limit, _beyond_sandbox),
    ),
    "web_fetch": Words({"url": "uri address link"}, silent="prompt max_length raw format timeout"),
    "background": Words(
        {
            "name": "bash_id shell_id task_id terminal_id command_id id",
            "action": "",
            "wait_s": "wait wait_seconds timeout",
        },
        silent="filter block",
    ),
    "edit": Words(
        {
            "old_string": "old_str old_text old search original find search_text original_lines "
            "old_content search_string original_text target_content",
            "new_string": "new_str new_text new replace replacement updated replace_text "
            "updated_lines new_content replace_string replacement_text replacement_content "
            "insert_text",
            "replace_all": "allow_multiple",
            "insert_line": "",
            "expected": "expected_replacements expected_occurrences",
        },
        silent="file_path path id",
        beside=("insert_line", "expected"),
        refused={
            "the old text is taken as it is written": "use_regex regex is_regex ignore_case",
            "line says where old_string begins": "start_line end_line",
        },
        reads=(_old_and_new, _insertion),
    ),
    "edit_file": Words(
        {
            "path": _FILE,
            "edits": "replacements operations changes_list",
            "diff": "patch blocks",
        },
        silent="line_count mode create_if_missing",
        refused={
            "give edits with old_string and new_string": "code_edit code changes update_snippet "
            "new_code content use_regex regex ignore_case start_line end_line",
            "it has no SEARCH/REPLACE blocks; give edits with old_string and new_string": "diff",
        },
        reads=(_blocks, _single_edit),
    ),
    "write_file": Words(
        {"path": _FILE, "content": "contents file_text text new_content data file_content"},
        silent="line_count lines create_directories create_dirs encoding overwrite mode",
        refused={"the content replaces the whole text; use edit_file to add to it": "append"},
        reads=(lambda given: _mode(given, "overwrite", "create", "write", "w"),),
    ),
    "apply_patch": Words(
        {"patch": "input diff patch_text patch_content", "path": _FILE}, beside=("path",)
    ),
    "delete_file": Words({"path": _FILE}, refused={"only one file is deleted": "recursive"}),
    "move_file": Words(
        {
            "path": "source source_path src old_path from from_path file_path",
            "new_path": "destination destination_path dest target to to_path target_path",
        },
        refused={"delete the file that is there first": "overwrite force"},
    ),
    "item": Words(
        {"text": "content step title task subject name description", "status": "state"},
        silent="id active_form priority notes order details",
        reads=(_status,),
    ),
    "update_plan": Words(
        {"items": "todos plan steps tasks todo_list task_list list"},
        silent="operation command",
        refused={"send all items every time": "merge"},
        reads=(_listed_plan,),
    ),
    "ask_user": Words(
        {
            "question": "prompt query",
            "options": "follow_up suggestions choices answers suggested_answers",
            "questions": "",
        },
        silent="header multi_select mode type placeholder id",
        reads=(_question,),
    ),
    "delegate": Words(
        {
            "kind": "subagent_type agent_type agent mode type",
            "task": "prompt message instructions objective",
        },
        silent="name",
        noted={
            "the call waits for the report": "run_in_background background",
            "the kind of sub-agent decides it": "model tools",
        },
        reads=(_kind,),
    ),
    "diagnostics": Words({"paths": f"file_paths files path {_FILE}"}, reads=(_single_path,)),
    "skill": Words({"name": "skill skill_name command", "arguments": "args"}),
    "find_symbol": Words({"name": _SYMBOL}),
    "references": Words({"path": _FILE, "name": _SYMBOL}),
}
"""By the tool, or by the part of its arguments; the first entry is for all others."""


def _mode(given: _Given, *same: str) -> str:
    """Leave out a mode that is what the tool does anyway."""
    if given.get("mode") in same:
        del given["mode"]
    return ""
