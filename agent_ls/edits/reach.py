"""Where a change of a text may have been made as well, so that two changes may be about one place.

A line that comes or goes beside equal ones has no place of its own among them, and lines that
say nothing (a brace, a blank one) do not part what is changed above and below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Lines ``low:high`` of the base become ``first:past`` of a side."""

    low: int
    high: int
    first: int
    past: int


@dataclass(frozen=True, slots=True)
class Reach:
    """Lines ``low:high`` of a text, or the gaps between them."""

    low: int
    high: int
    has_gaps: bool
    """Lines come, and none goes: what stands right beside is touched as well."""
    block: frozenset[str] = frozenset()
    """The lines that go or come."""

    def meets(self, other: Reach) -> bool:
        """Tell whether both may be about one place."""
        if self.has_gaps or other.has_gaps:
            return self.low <= other.high and other.low <= self.high
        return self.low < other.high and other.low < self.high

    def may_swap_with(self, others: Sequence[Reach]) -> bool:
        """Tell whether one stands among changes that have a line of it too.

        Then that line may be the one that stayed, and its like the one that came or went.
        """
        if not others or others[-1].high < self.low or self.high < others[0].low:
            return False
        shared = self.block & frozenset[str]().union(*(one.block for one in others))
        return any(map(_says_something, shared))


def reach_of(lines: Sequence[str], change: Change, side: Sequence[str]) -> Reach:
    """Return where a change may have been made as well.

    Whether a line beside it is the one that stayed, or its like among those that went or came,
    is nobody's to say.
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
    """Return sorted reaches, with those made one that have nothing between that says something."""
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
