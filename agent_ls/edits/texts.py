"""A wish as lines, and the hunk that makes its new lines of its old ones."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.edits.keys import stripped
from agent_ls.edits.minimal import blocks
from agent_ls.edits.requests import Hunk, HunkLine, Wish


def lines_of(wish: Wish) -> tuple[list[str], list[str]]:
    """Return the lines of both texts.

    A last line end that only one has counts when nothing else differs, or as a blank line that
    the other has too, be it with blanks in it.
    """
    old, new = wish.old.split("\n"), wish.new.split("\n")
    if old[-1] == "" and new[-1] == "":
        return old[:-1], new[:-1]
    if old[-1] == "" and old[:-1] != new:
        return old[:-1], new
    if new[-1] == "" and len(old) > 1 and not stripped(old[-1]):
        return old, new
    if new[-1] == "" and new[:-1] != old and _blanks(new) > _blanks(old):
        return old, new[:-1] if wish.new.strip() else []
    return old, new if wish.new else []


def hunk_of(old: Sequence[str], new: Sequence[str], line: int | None = None) -> Hunk:
    """Return the hunk that makes the new lines of the old ones."""
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
