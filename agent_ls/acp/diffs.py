"""Changes of files as the protocol's diffs: two texts and an absolute path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from acp.schema import FileEditToolCallContent

from agent_ls.edits.diff import diff_to_read
from agent_ls.edits.lines import split_lines
from agent_ls.edits.long_lines import MAX_WHOLE
from agent_ls.edits.notebooks import as_cells

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_NO_END = "\\ No newline at end of file"
_MAX_DIFF_CHARACTERS = 500_000

Place = Callable[[str], str | None]
"""Returns the absolute path for the model's name of a file; None outside the folders."""


def of_texts(path: str, before: str | None, after: str | None) -> list[FileEditToolCallContent]:
    """Return the change of a file as its whole texts, else as its hunks with long lines cut.

    Nothing for a change that is too large to be shown.
    """
    before, after, _ = as_cells(before, after, path)
    is_large = len(before or "") + len(after or "") > _MAX_DIFF_CHARACTERS
    changed = {*split_lines(before or "")} ^ {*split_lines(after or "")}
    if not is_large and max(map(len, changed), default=0) <= MAX_WHOLE:
        new = after or ""
        return [FileEditToolCallContent(type="diff", path=path, old_text=before, new_text=new)]
    diff = diff_to_read(before, after, "file")
    shown = from_unified(diff, lambda _: path) if len(diff) <= _MAX_DIFF_CHARACTERS else None
    return shown or []


def from_unified(payload: str, place: Place) -> list[FileEditToolCallContent] | None:
    """Return a preview's unified diff as one diff a hunk; None when it is not exactly one.

    The preview shows hidden characters as escapes and so do the diffs: they are what the user
    judges, and are never applied.
    """
    try:
        found = list(_hunks(payload.removesuffix("\n").split("\n"), place))
    except (ValueError, IndexError):
        return None
    return found or None


def _hunks(lines: Sequence[str], place: Place) -> Iterator[FileEditToolCallContent]:
    at, is_new, path = 0, False, None
    while at < len(lines):
        if lines[at].startswith("--- ") and lines[at + 1 : at + 2]:
            is_new, old, new = lines[at] == "--- /dev/null", lines[at][4:], lines[at + 1][4:]
            path = place((old if new == "/dev/null" else new)[2:])
            at += 2
        elif path is not None and (match := _HUNK.match(lines[at])):
            left, right, at = _sides(lines, at + 1, int(match[1] or 1), int(match[2] or 1))
            old_text = None if is_new else left
            yield FileEditToolCallContent(type="diff", path=path, old_text=old_text, new_text=right)
        else:
            raise ValueError(lines[at])


def _sides(lines: Sequence[str], at: int, old: int, new: int) -> tuple[str, str, int]:
    """Return a hunk's two texts, and where the next hunk begins."""
    sides: tuple[list[str], list[str]] = ([], [])
    touched: tuple[list[str], ...] = sides
    while at < len(lines) and (old > len(sides[0]) or new > len(sides[1]) or lines[at] == _NO_END):
        line = lines[at]
        at += 1
        if line == _NO_END:
            for side in touched:
                side[-1] = side[-1].removesuffix("\n")
            continue
        touched = {" ": sides, "-": sides[:1], "+": sides[1:]}.get(line[:1], ())
        if not touched:
            raise ValueError(line)
        for side in touched:
            side.append(f"{line[1:]}\n")
    if (len(sides[0]), len(sides[1])) != (old, new):
        raise ValueError("the hunk is not as long as it says")
    return "".join(sides[0]), "".join(sides[1]), at
