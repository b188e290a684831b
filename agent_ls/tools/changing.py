"""Shared by the tools that change files: checks, the smallest change and its preview."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import ChangeText, FileEdit, Replacement, TextFile, apply_replacements
from agent_ls.domain.errors import ToolError
from agent_ls.edits.diff import diff_to_read
from agent_ls.edits.lines import BOM
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.shown_marks import leaked_mark
from agent_ls.tools.showing import preview

MERGED = " {} had changed since you read it; those changes are kept."
"""Note for the model on edits that it made for an older text."""
_MAX_AROUND_LINES = 3


def check_whole(new: str, before: str | None) -> None:
    """Refuse a new text with a mark that we show for omitted text. Errors: ``ToolError``."""
    if (reason := leaked_mark(new, before)) is not None:
        raise ToolError(reason)


def check_may_go(file: TextFile) -> None:
    """Refuse to move or delete a file that has to stay. Errors: ``ToolError``."""
    if file.why_it_stays:
        raise ToolError(f"Nothing was changed. {file.why_it_stays}.")


def marked_as(now: str, text: str) -> str:
    """Return ``text`` with a byte order mark if ``now`` has one.

    Some editors keep the mark in their buffers; texts from the model have none.
    """
    return BOM + text if now.startswith(BOM) and not text.startswith(BOM) else text


def change_of(file: TextFile, after: str) -> ChangeText:
    """Return the smallest change to this text; ``ToolError`` if the file already has it."""
    replacements = replacements_between(file.text, after)
    if not replacements:
        raise ToolError(f"{file.path} already has exactly this text; nothing was done.")
    return ChangeText(path=file.path, base_version=file.version, replacements=replacements)


def preview_of(
    title: str,
    kind: ToolKind,
    edit: FileEdit,
    before: str | None,
    grant: str | None,
    line: int | None = None,
) -> Preview:
    """Return the preview of one file edit: the diff is the payload.

    ``line`` is where the change begins, if ``before`` is not the file's text. The path binds an
    approval beside what it covers, so that one can follow a renamed file.
    """
    first, bound = 0, ""
    match edit.kind:
        case "change":
            text = before or ""
            diff = diff_to_read(text, apply_replacements(text, edit.replacements), edit.path)
            first = text.count("\n", 0, edit.replacements[0].start) if edit.replacements else 0
            bound = bound_by("", text, edit.replacements)
        case "create":
            diff = diff_to_read(None, edit.text, edit.path)
            bound = bound_by_texts("", None, edit.text)
        case "delete":
            diff = diff_to_read(before, None, edit.path)
            bound = bound_by_texts("", before, None)
        case "move":
            diff = f"rename {edit.path}\n    to {edit.new_path}\n"
    line = first if line is None else line
    return preview(title, diff, kind, path=edit.path, line=line, grant=grant, bound=bound)


def bound_by(path: str, before: str, replacements: Sequence[Replacement]) -> str:
    """Return what an approval of these replacements covers; the same after lines have moved.

    Shape: JSON with the changed lines, and as many lines around as make them unique in the file.
    If more than three would be needed, it holds the whole file. Lines that several replacements
    change stand there once.
    """
    padded = f"\n{before}\n"
    groups: list[list[Replacement]] = []
    past = 0
    for one in replacements:
        # In a long line, finding its ends for each of many replacements takes seconds.
        if not groups or one.end + 1 >= past:
            low, high = _lines_of(padded, one)
            groups += [[]] if low >= past else []
            past = high
        groups[-1].append(one)
    bounds = [_bound(padded, group) for group in groups]
    whole = "" if all(lines for lines, _ in bounds) else before
    return json.dumps([path, whole, *bounds])


def bound_by_texts(path: str, before: str | None, after: str | None, new_path: str = "") -> str:
    """Return what an approval of a whole file's change covers; None: there is no file."""
    return json.dumps([path, new_path, before, after])


def _lines_of(padded: str, one: Replacement) -> tuple[int, int]:
    """Return where the lines begin and end that a replacement changes."""
    start, end = one.start + 1, one.end + 1
    # A replacement of whole lines does not change the line after it.
    is_whole = padded[end - 1] == "\n" and (one.text[-1:] or padded[start - 1]) == "\n"
    return padded.rfind("\n", 0, start) + 1, end if is_whole else padded.find("\n", end) + 1


def _bound(padded: str, changes: Sequence[Replacement]) -> tuple[str, list[tuple[int, int, str]]]:
    """Return the lines, and for each replacement its place in them, its length and its text.

    No lines if they are not unique in the file, even with those around.
    """
    low, high = _lines_of(padded, changes[0])[0], _lines_of(padded, changes[-1])[1]
    for _ in range(_MAX_AROUND_LINES + 1):
        lines = padded[low - 1 : high]
        first = padded.find(lines)
        if low < high and padded.find(lines, first + 1) < 0:
            return lines, _placed(changes, low)
        low = padded.rfind("\n", 0, max(low - 1, 1)) + 1
        high = padded.find("\n", high) + 1 or len(padded)
    return "", _placed(changes, 0)


def _placed(changes: Sequence[Replacement], low: int) -> list[tuple[int, int, str]]:
    return [(one.start + 1 - low, one.end - one.start, one.text) for one in changes]


def places_of(after: str, replacements: Sequence[Replacement]) -> str:
    """Return the line numbers of the new text, in words; each once, as a long line may have many
    replacements.
    """
    at = shift = 0
    first = 1
    lines: list[str] = []
    for one in replacements:
        start = one.start + shift
        # A CR whose LF follows is no line end of its own.
        first += _line_ends(after[at:start]) - (after[max(0, start - 1) : start + 1] == "\r\n")
        at = start
        last = first + _line_ends(one.text.rstrip("\r\n"))
        lines.append(str(first) if first == last else f"{first}-{last}")
        shift += len(one.text) - (one.end - one.start)
    lines = list(dict.fromkeys(lines))
    word = "line" if len(lines) == 1 and "-" not in lines[0] else "lines"
    return f"{word} {', '.join(lines)}"


def _line_ends(text: str) -> int:
    """Return the number of line ends; a CR alone counts too, as when a file is read."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")
