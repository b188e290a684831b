"""What is printed of a call: one line while it runs and when it has ended, and what is below it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent_ls.cli.chat.paint import Painter
from agent_ls.domain.calls import ToolResult
from agent_ls.domain.sentences import counted
from agent_ls.observers.call_summary import short, summary_of

OUTPUT_LINES = 5
"""Lines of a command's output that are shown below its call while it runs."""
_COMMAND = "run_command"
_MOST_SAID_CHARS = 400
_SUMMARY_LINES = 3
_WORD = re.compile(r"\w")
_VERBS: Mapping[str, str] = {
    "apply_patch": "Edit",
    "ask_user": "Ask",
    "background": "Background",
    "delegate": "Delegate",
    "delete_file": "Delete",
    "diagnostics": "Check",
    "edit_file": "Edit",
    "final_output": "Answer",
    "find_symbol": "Find",
    "find_tool": "Find tool",
    "glob": "List",
    "grep": "Search",
    "list_dir": "List",
    "move_file": "Move",
    "outline": "Outline",
    "read_file": "Read",
    "read_output": "Read output",
    "references": "Find uses of",
    "repository_map": "Map",
    _COMMAND: "$",
    "skill": "Skill",
    "update_plan": "Plan",
    "web_fetch": "Fetch",
    "write_file": "Write",
}
"""What a user reads instead of a tool's name."""
_COUNTS: Mapping[str, tuple[str, str]] = {
    "find_symbol": ("found", "place"),
    "glob": ("files", "file"),
    "grep": ("hits", "hit"),
    "list_dir": ("entries", "name"),
}
"""By tool, which of its result's facts says how much was found, and what that is."""


def call_words(tool: str, arguments_json: str) -> str:
    """Return a call in a few words."""
    about = summary_of(tool, arguments_json, with_size=False)
    return f"{_VERBS.get(tool, tool)} {about}".rstrip()


def result_line(
    painter: Painter, columns: int, tool: str, call: str, size: str, result: ToolResult
) -> str:
    """Return the call with its outcome, whose end is never cut off; ``size`` of what it changed."""
    took = f"{result.duration_ms / 1000:.1f} s" if result.duration_ms >= 100 else ""
    if result.error is not None:
        return painter.sides(f"✗ {call}", took, columns, "red")
    if result.not_run:
        return painter.sides(f"· {call}", f"({result.not_run})", columns, "dim")
    if result.bad_exit:
        return painter.sides(f"✗ {call}", f"{result.bad_exit}  {took}".rstrip(), columns, "red")
    end = "  ".join(filter(None, (size or _count(tool, result), took)))
    return painter.sides(f"✓ {call}", end, columns, sign="green")


def _count(tool: str, result: ToolResult) -> str:
    fact, noun = _COUNTS.get(tool, ("", ""))
    data = result.data if isinstance(result.data, dict) else {}
    count = data.get(fact)
    return counted(count, noun) if isinstance(count, int) else ""


def lines_below(
    painter: Painter, columns: int, tool: str, output: str, result: ToolResult, way: str
) -> list[str]:
    """Return why it failed, or how a command summed up.

    ``output`` is what it printed, and ``way`` how the user sees all of it, if there is one.
    """
    if result.error is not None:
        said = result.text.removeprefix("error: ").removeprefix("Denied: ")
        words = f"{result.error}: {short(said, _MOST_SAID_CHARS)}"
        return [painter.words(words, columns, "dim", indent=2)]
    if result.bad_exit:
        return painter.tail(output or result.text, columns, 2 * OUTPUT_LINES)
    printed = _printed(result.text) if tool == _COMMAND and not result.not_run else []
    # Test runners sum up in their last lines.
    last = [short(one) for one in printed[-_SUMMARY_LINES:]]
    if (more := len(printed) - len(last)) and way:
        # Of what was cut for the model nobody counted the lines.
        words = "more" if result.output_id else counted(more, "more line")
        last.insert(0, f"… {words} · {way}")
    return [painter.line(f"  {one}", columns, "dim") for one in last]


def _printed(text: str) -> list[str]:
    """Return the lines that a command printed, without those that have no word."""
    lines = [one for one in text.rstrip().splitlines()[1:] if _WORD.search(one)]
    # What run_command adds for the model stands behind it in brackets.
    while lines and lines[-1].startswith("(") and lines[-1].endswith(")"):
        lines.pop()
    return lines
