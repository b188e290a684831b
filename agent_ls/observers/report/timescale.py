"""From moments to places on a drawing; long idle stretches are squeezed, so that work is legible.

A person may think for an hour about one approval; to scale, nothing else could be seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_IDLE_SHARE = 0.08
"""An idle stretch that is longer than this share of the busy time is squeezed."""
_IDLE_MS = 3_000
_SQUEEZED_WIDTH = 44.0

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of time and where it is drawn."""

    start_ms: int
    end_ms: int
    x: float
    width: float
    is_squeezed: bool


class TimeScale:
    """Maps the time between two moments to the places between two edges."""

    def __init__(
        self, whole: Interval, busy: Iterable[Interval], left: float, width: float
    ) -> None:
        """Lay the pieces out; ``busy`` is when anything but a person was at work."""
        stretches = _stretches(whole, sorted(busy))
        idle_count = sum(is_idle for _, _, is_idle in stretches)
        active_ms = sum(end - start for start, end, is_idle in stretches if not is_idle)
        free = max(width - idle_count * _SQUEEZED_WIDTH, width / 4)
        per_ms = free / max(1, active_ms)
        self.pieces: list[Piece] = []
        x = left
        for start, end, is_idle in stretches:
            wide = _SQUEEZED_WIDTH if is_idle else (end - start) * per_ms
            self.pieces.append(Piece(start, end, x, wide, is_idle))
            x += wide
        self.right = x

    def x(self, at_ms: int) -> float:
        """Return where a moment is."""
        for piece in self.pieces:
            if at_ms <= piece.end_ms:
                inside = max(0, at_ms - piece.start_ms)
                return piece.x + piece.width * inside / max(1, piece.end_ms - piece.start_ms)
        return self.right


def _stretches(whole: Interval, busy: list[Interval]) -> list[tuple[int, int, bool]]:
    """Return the whole in order as stretches that are to scale, and idle ones to be squeezed."""
    start, end = whole
    merged: list[list[int]] = []
    for one_start, one_end in busy:
        low, high = max(start, one_start), min(end, one_end)
        if merged and low <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        elif low <= high:
            merged.append([low, high])
    busy_ms = sum(high - low for low, high in merged)
    limit_ms = max(_IDLE_MS, _IDLE_SHARE * busy_ms)
    found: list[tuple[int, int, bool]] = []
    at = start
    for low, high in [*merged, [end, end]]:
        if low - at > limit_ms:
            found += [(at, low, True), (low, high, False)]
        elif found and not found[-1][2]:
            found[-1] = (found[-1][0], high, False)
        else:
            found.append((at, high, False))
        at = high
    return [one for one in found if one[1] > one[0]] or [(start, max(end, start + 1), False)]
