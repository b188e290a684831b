"""Split a wish into lines, and build the hunk that turns its old lines into the new ones."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.edits.keys import stripped
from agent_ls.edits.minimal import blocks
from agent_ls.edits.requests import EditRequest, Hunk, HunkLine


def lines_of(request: EditRequest) -> tuple[list[str], list[str]]:
    """Return the lines of the old and the new text.

    A final line end that only one text has usually does not matter. It counts if nothing else
    differs, or if it stands for a blank line that the other text has too.
    """
    old, new = request.old.split("\n"), request.new.split("\n")
    if old[-1] == "" and new[-1] == "":
        return old[:-1], new[:-1]
    if old[-1] == "" and old[:-1] != new:
        return old[:-1], new
    if new[-1] == "" and len(old) > 1 and not stripped(old[-1]):
        return old, new
    if new[-1] == "" and new[:-1] != old and _blanks(new) > _blanks(old):
        return old, new[:-1] if request.new.strip() else []
    return old, new if request.new else []


def hunk_of(old: Sequence[str], new: Sequence[str], line: int | None = None) -> Hunk:
    """Return the hunk that turns the old lines into the new ones."""
    lines: list[HunkLine] = []
    for kind, low, high, new_low, new_high in blocks(old, new):
        if kind == "equal":
            lines += [HunkLine(" ", one) for one in old[low:high]]
            continue
        lines += [HunkLine("-", one) for one in old[low:high]]
        lines += [HunkLine("+", one) for one in new[new_low:new_high]]
    return Hunk(tuple(lines), line)


def _blanks(lines: Sequence[str]) -> int:
    return sum(not stripped(line) for line in lines)
