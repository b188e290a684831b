"""Where a change of a text could stand as well, so that two changes may be about one place.

A line that comes or goes beside equal ones has no place of its own among them, and lines that
say nothing (a brace, a blank one) do not part what is changed above and below them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Lines ``low:high`` of a text, or the gaps between them."""

    low: int
    high: int
    has_gaps: bool
    """Lines come, and none goes: what stands right beside is touched as well."""

    def meets(self, other: Reach) -> bool:
        """Tell whether both may be about one place."""
        if self.has_gaps or other.has_gaps:
            return self.low <= other.high and other.low <= self.high
        return self.low < other.high and other.low < self.high


def reach_of(lines: Sequence[str], low: int, high: int, new: Sequence[str]) -> Reach:
    """Return where a change of ``low:high`` into ``new`` could stand without another outcome."""
    block = new if low == high else lines[low:high]
    if low < high and new:
        return Reach(low, high, has_gaps=False)
    up = down = 0
    while low - up > 0 and lines[low - up - 1] == block[-1 - up % len(block)]:
        up += 1
    while high + down < len(lines) and lines[high + down] == block[down % len(block)]:
        down += 1
    return Reach(low - up, high + down, has_gaps=low == high)


def joined(lines: Sequence[str], reaches: Sequence[Reach]) -> list[Reach]:
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
