"""The places where a change could equally have been made, to detect changes of the same place.

If a line is added or removed among equal lines, a diff cannot tell which of them it was. Lines
without text (a brace, a blank line) do not separate the changes above and below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``low:high`` of the base become lines ``first:past`` of a side."""

    low: int
    high: int
    first: int
    past: int


@dataclass(frozen=True, slots=True)
class Reach:
    """The lines ``low:high`` of a text that a change may concern."""

    low: int
    high: int
    has_gaps: bool
    """The change only adds lines, so it also touches the gaps at both ends."""
    block: frozenset[str] = frozenset()
    """The removed and added lines."""

    def meets(self, other: Reach) -> bool:
        """Tell whether both changes may concern the same place."""
        if self.has_gaps or other.has_gaps:
            return self.low <= other.high and other.low <= self.high
        return self.low < other.high and other.low < self.high

    def may_swap_with(self, others: Sequence[Reach]) -> bool:
        """Tell whether this change lies among changes that add or remove an equal line.

        Then the diff may have swapped the kept line with the added or removed one.
        """
        if not others or others[-1].high < self.low or self.high < others[0].low:
            return False
        shared = self.block & frozenset[str]().union(*(one.block for one in others))
        return any(map(_says_something, shared))


def reach_of(lines: Sequence[str], change: Change, side: Sequence[str]) -> Reach:
    """Return all places where a change could equally have been made.

    The range grows over adjacent lines that equal an added or removed line, since a diff cannot
    tell them apart.
    """
    low, high = change.low, change.high
    block = frozenset([*lines[low:high], *side[change.first : change.past]])
    first, past = low, high
    while first > 0 and lines[first - 1] in block:
        first -= 1
    while past < len(lines) and lines[past] in block:
        past += 1
    return Reach(first, past, low == high, block)


def run_together(lines: Sequence[str], reaches: Sequence[Reach]) -> list[Reach]:
    """Join sorted reaches that have no line with text between them."""
    found: list[Reach] = []
    for one in reaches:
        last = found[-1] if found else None
        if last is None or any(map(_says_something, lines[last.high : one.low])):
            found.append(one)
        else:
            has_gaps = last.has_gaps and one.has_gaps
            found[-1] = Reach(last.low, max(last.high, one.high), has_gaps)
    return found


def _says_something(line: str) -> bool:
    return any(map(str.isalnum, line))
