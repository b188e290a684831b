"""Align quoted lines with the file: which lines match, changed, are missing or were inserted.

Whether an alignment is certain enough is decided in ``stale``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Keyed

MAX_LINES = 400
"""Longer quotes are not aligned, because the time grows with their length."""
_MAX_COMMON = 64
"""A line that occurs more often than this says nothing about the place."""
_MAX_DIAGONALS = 8
_BAND = 3
"""At most this many lines may be inserted or missing between the first and the last line."""
_MIN_LETTERS = 4
_UNKNOWN = "\U0010ffff"
_STEP = 0.2
"""Cost of an inserted or missing line. It is small, so a brace that moved one line down pairs."""
_PAIR, _GONE, _CAME = range(3)


@dataclass(frozen=True, slots=True)
class Alignment:
    """One way to align old lines with the file; all lines are given by number."""

    lines: dict[int, int]
    """Old lines that the file has, mapped to its lines."""
    changed: dict[int, int]
    """Old lines whose place in the file holds a different line."""
    missing: frozenset[int]
    inserted: tuple[int, ...]
    """File lines inserted between the old lines."""
    score: float

    @property
    def differing_lines(self) -> int:
        """Return the number of lines in which the old text and the file differ."""
        return len(self.changed) + len(self.missing) + len(self.inserted)


def weight(line: str) -> float:
    """Return how much a match of this line counts as evidence: little for a brace."""
    return 1 if sum(char.isalnum() for char in line) >= _MIN_LETTERS else 0.25


def alignments(keyed: Keyed, old: list[str]) -> list[Alignment]:
    """Return the likeliest alignments of the old lines with the file, best first."""
    solid = [number for number, line in enumerate(old) if stripped(line)]
    wanted = [keyed.number_of(keyed.key(old[number])) or _UNKNOWN for number in solid]
    weights = [weight(old[number]) for number in solid]
    found: dict[tuple[tuple[int, int], ...], Alignment] = {}
    for diagonal in _diagonals(keyed.text, wanted):
        pairs, score = _laid(keyed.text, wanted, weights, diagonal)
        one = _alignment(keyed, wanted, solid, pairs, score)
        if one.lines:
            found[tuple(one.lines.items())] = one
    return sorted(found.values(), key=lambda one: (-one.score, one.differing_lines))


def _diagonals(text: str, wanted: list[str]) -> list[int]:
    """Return the likeliest offsets of the old lines in the file, best first."""
    votes: Counter[int] = Counter()
    for row, char in enumerate(wanted):
        if char == _UNKNOWN or text.count(char) > _MAX_COMMON:
            continue
        at = text.find(char)
        while at >= 0:
            votes[at - row] += 1
            at = text.find(char, at + 1)
    return [diagonal for diagonal, _ in votes.most_common(_MAX_DIAGONALS)]


def _laid(
    text: str, wanted: list[str], weights: list[float], diagonal: int
) -> tuple[list[tuple[int, int]], float]:
    """Return the best pairs of old and file lines near the diagonal, in order, and their score.

    Each step of the path pairs two lines, skips an old line, or skips a file line.
    """
    size = 2 * _BAND + 1
    best = [-_STEP * abs(shift - _BAND) for shift in range(size)]
    moves: list[list[int]] = []
    for row, char in enumerate(wanted):
        low = diagonal + row - _BAND
        now: list[float] = []
        how: list[int] = []
        for shift in range(size):
            at = low + shift
            is_equal = 0 <= at < len(text) and text[at] == char
            score, move = best[shift] + (weights[row] if is_equal else 0), _PAIR
            if shift + 1 < size and best[shift + 1] - _STEP > score:
                score, move = best[shift + 1] - _STEP, _GONE
            if shift and now[shift - 1] - _STEP > score:
                score, move = now[shift - 1] - _STEP, _CAME
            now.append(score)
            how.append(move)
        best = now
        moves.append(how)
    shift = max(range(size), key=lambda one: (best[one], -abs(one - _BAND)))
    score, row = best[shift], len(wanted) - 1
    pairs: list[tuple[int, int]] = []
    while row >= 0:
        move = moves[row][shift]
        if move == _PAIR:
            pairs.append((row, diagonal + row - _BAND + shift))
        row -= move != _CAME
        shift += (move == _GONE) - (move == _CAME)
    return pairs[::-1], score


def _alignment(
    keyed: Keyed,
    wanted: list[str],
    solid: list[int],
    pairs: list[tuple[int, int]],
    score: float,
) -> Alignment:
    numbers, text = keyed.numbers, keyed.text
    inside = [(row, at) for row, at in pairs if 0 <= at < len(text)]
    there = dict(inside)
    inserted = [line for (_, at), (_, to) in pairwise(inside) for line in numbers[at + 1 : to]]
    same = {row for row, at in inside if text[at] == wanted[row]}
    return Alignment(
        {solid[row]: numbers[there[row]] for row in sorted(same)},
        {solid[row]: numbers[at] for row, at in inside if row not in same},
        frozenset(solid[row] for row in range(len(solid)) if row not in there),
        tuple(inserted),
        score,
    )
