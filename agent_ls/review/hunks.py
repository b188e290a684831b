"""One change of the agent's in a file, as the review shows it and decides about it. Pure.

Lines are flat (every end is LF); a last empty line stands for the final line end, so that joining
the lines gives the text back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from agent_ls.domain.review import HunkKind, HunkState
from agent_ls.edits.lines import BOM, flattened
from agent_ls.edits.long_lines import cut_pair
from agent_ls.edits.merge import Change, brings_back, meet

Lines = tuple[str, ...]

_TITLE_AROUND = 20
"""Unchanged characters before the change of a long line."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of the agent's: ``old`` lines became ``new`` ones."""

    id: str
    """Another one as soon as the agent changes it again, so that a decision is about what was seen.
    """
    kind: HunkKind
    first: int
    """0-based, of the first line in the ledger's text."""
    old: Lines
    new: Lines
    state: HunkState = "open"
    is_mixed: bool = False
    """Somebody else changed its lines before the agent's last edit of the file."""

    @property
    def held(self) -> Lines:
        """Return the lines that the ledger's text has for it."""
        return self.old if self.state == "undone" else self.new

    @property
    def past(self) -> int:
        """Return the line behind it in the ledger's text."""
        return self.first + len(self.held)

    @property
    def size(self) -> tuple[int, int]:
        """Return how many lines it added and removed; a last empty one stands for a line end."""
        if self.kind in ("moved", "opaque"):
            return 0, 0
        if self.kind == "text":
            return len(self.new), len(self.old)
        sides = ("\n".join(lines).removesuffix("\n") for lines in (self.new, self.old))
        added, removed = (len(text.split("\n")) if text else 0 for text in sides)
        return added, removed

    @property
    def title(self) -> str:
        """Return the first line that says something, for a list; of a move the name before.

        A long line begins shortly before its first change.
        """
        old, new = (
            next((line.strip() for line in lines if line.strip()), "")
            for lines in (self.old, self.new)
        )
        if self.kind == "moved" or not new:
            return old
        return cut_pair(old, new, around=_TITLE_AROUND)[1]

    def met(self, changes: Sequence[Change], after: Sequence[str]) -> list[Change]:
        """Return the changes, in order and apart, that are about the same lines.

        ``after`` is their other side.
        """
        own = Change(self.first, self.past, 0, 0)
        return [
            one
            for one in self.touched(changes)
            if meet(own, one, beside=True) or brings_back(one, after, own, self.old)
        ]

    def touched(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Return the changes, in order and apart, that have lines of it or end right beside it."""
        start = bisect_left(changes, self.first, key=lambda one: one.high)
        return changes[start : bisect_right(changes, self.past, lo=start, key=lambda one: one.low)]


def lines_of(text: str) -> Lines:
    """Return the flat lines; a final line end makes a last empty one."""
    return tuple(flat(text).split("\n"))


def flat(text: str) -> str:
    """Return the text without byte order mark, every line end written as LF."""
    return flattened(text.removeprefix(BOM))
