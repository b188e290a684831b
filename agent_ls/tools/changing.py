"""What the tools that change files share: the plan of one edit, and its preview."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import FileEdit, Replacement, TextFile, apply_replacements
from agent_ls.domain.errors import ToolError
from agent_ls.edits.diff import unified
from agent_ls.edits.lines import BOM
from agent_ls.edits.shown_marks import leaked_mark
from agent_ls.tools.showing import preview

MERGED = " {} had changed since you read it; those changes are kept."
"""Said of edits that were made for an older text."""


def check_whole(new: str, before: str | None) -> None:
    """Refuse a new text that quotes a mark for text left out. Errors: ``ToolError``."""
    if (reason := leaked_mark(new, before)) is not None:
        raise ToolError(reason)


def check_may_go(file: TextFile) -> None:
    """Refuse to move or delete a file before anybody is asked. Errors: ``ToolError``."""
    if file.why_it_stays:
        raise ToolError(f"Nothing was changed. {file.why_it_stays}.")


def marked_as(now: str, text: str) -> str:
    """Return a text with the byte order mark that the newest one shows, as some editors have it in
    their buffers; what a model writes, and what is kept of what it read, is without.
    """
    return BOM + text if now.startswith(BOM) and not text.startswith(BOM) else text


def preview_of(
    title: str, kind: ToolKind, edit: FileEdit, before: str | None, grant: str | None
) -> Preview:
    """Return the preview of one file edit: the diff is the payload."""
    line = 0
    match edit.kind:
        case "change":
            text = before or ""
            diff = unified(text, apply_replacements(text, edit.replacements), edit.path)
            line = text.count("\n", 0, edit.replacements[0].start) if edit.replacements else 0
        case "create":
            diff = unified(None, edit.text, edit.path)
        case "delete":
            diff = unified(before, None, edit.path)
        case "move":
            diff = f"rename {edit.path}\n    to {edit.new_path}\n"
    return preview(title, diff, kind, path=edit.path, line=line, grant=grant)


def places_of(after: str, replacements: Sequence[Replacement]) -> str:
    """Return where the new text stands now, in lines."""
    at = shift = 0
    first = 1
    lines: list[str] = []
    for one in replacements:
        start = one.start + shift
        # A CR whose LF is yet to come is no line end of its own.
        first += _line_ends(after[at:start]) - (after[max(0, start - 1) : start + 1] == "\r\n")
        at = start
        last = first + _line_ends(one.text.rstrip("\r\n"))
        lines.append(str(first) if first == last else f"{first}-{last}")
        shift += len(one.text) - (one.end - one.start)
    word = "line" if len(lines) == 1 and "-" not in lines[0] else "lines"
    return f"{word} {', '.join(lines)}"


def _line_ends(text: str) -> int:
    """Return how many line ends are in a text, by a CR alone too, as a file is read."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
