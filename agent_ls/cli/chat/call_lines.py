"""What is printed of a call that has ended: one line, and what a user looks for below it."""

from __future__ import annotations

import re

from agent_ls.cli.chat.paint import Painter
from agent_ls.domain.calls import ToolResult
from agent_ls.observers.call_summary import short

OUTPUT_LINES = 5
"""Lines of a command's output that are shown below its call while it runs."""
_COMMAND = "run_command"
_MOST_SAID_CHARS = 400
_SUMMARY_LINES = 3
_WORD = re.compile(r"\w")


def result_line(painter: Painter, columns: int, call: str, result: ToolResult) -> str:
    """Return the call with its outcome, whose end is never cut off."""
    took = f"{result.duration_ms / 1000:.1f} s" if result.duration_ms >= 100 else ""
    if result.error is not None:
        return painter.sides(f"✗ {call}", took, columns, "red")
    if result.not_run:
        return painter.sides(f"· {call}", f"({result.not_run})", columns, "dim")
    if result.bad_exit:
        return painter.sides(f"✗ {call}", f"{result.bad_exit}  {took}".rstrip(), columns, "red")
    return painter.sides(f"✓ {call}", took, columns)


def lines_below(
    painter: Painter, columns: int, tool: str, output: str, result: ToolResult
) -> list[str]:
    """Return why it failed, or how a command summed up. ``output`` is what it printed."""
    if result.error is not None:
        said = result.text.removeprefix("error: ").removeprefix("Denied: ")
        words = f"{result.error}: {short(said, _MOST_SAID_CHARS)}"
        return [painter.words(words, columns, "dim", indent=2)]
    if result.bad_exit:
        return painter.tail(output or result.text, columns, 2 * OUTPUT_LINES)
    last = _last_lines(result.text) if tool == _COMMAND and not result.not_run else []
    return [painter.line(f"  {one}", columns, "dim") for one in last]


def _last_lines(text: str) -> list[str]:
    """Return the last lines that a command printed: test runners sum up there."""
    lines = [one for one in text.rstrip().splitlines()[1:] if _WORD.search(one)]
    # What run_command adds for the model stands behind it in brackets.
    while lines and lines[-1].startswith("(") and lines[-1].endswith(")"):
        lines.pop()
    return [short(one) for one in lines[-_SUMMARY_LINES:]]
