"""One alignment of quoted lines to the file: which line each of them is, became, or lost.

Owns how the lines are laid, never whether that is certain enough.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Keyed

MAX_LINES = 400
"""A longer quote is not laid: the time goes with its length."""
_MAX_COMMON = 64
"""A line that stands more often says nothing about the place."""
_MAX_DIAGONALS = 8
_BAND = 3
"""So many lines may come or go between the first line and the last."""
_MIN_LETTERS = 4
_UNKNOWN = "\U0010ffff"
_STEP = 0.2
"""What a line costs that came or went: a brace one line further down is the same brace."""
_PAIR, _GONE, _CAME = range(3)


@dataclass(frozen=True, slots=True)
class Alignment:
    """One way to lay the old lines over the file, by numbers of lines."""

    lines: dict[int, int]
    """Old lines that the file has."""
    changed: dict[int, int]
    """Old lines between these in whose place the file has another line."""
    gone: frozenset[int]
    came: tuple[int, ...]
    """Lines of the file between the old ones."""
    score: float

    @property
    def apart(self) -> int:
        """Return in how many lines the old text and the file differ."""
        return len(self.changed) + len(self.gone) + len(self.came)


def weight(line: str) -> float:
    """Return how much it says that this line is there: little for a brace."""
    return 1 if sum(char.isalnum() for char in line) >= _MIN_LETTERS else 0.25


def alignments(keyed: Keyed, old: list[str]) -> list[Alignment]:
    """Return the likeliest ways to lay the old lines over the file, the best first."""
    solid = [number for number, line in enumerate(old) if stripped(line)]
    wanted = [keyed.number_of(keyed.key(old[number])) or _UNKNOWN for number in solid]
    weights = [weight(old[number]) for number in solid]
    found: dict[tuple[tuple[int, int], ...], Alignment] = {}
    for diagonal in _diagonals(keyed.text, wanted):
        pairs, score = _laid(keyed.text, wanted, weights, diagonal)
        one = _alignment(keyed, wanted, solid, pairs, score)
        if one.lines:
            found[tuple(one.lines.items())] = one
    return sorted(found.values(), key=lambda one: (-one.score, one.apart))


def _diagonals(text: str, wanted: list[str]) -> list[int]:
    """Return how far down the file the old lines may begin, the likeliest first."""
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
    """Return which old line goes with which of the file, in order, and what that says.

    The best path along a band around the diagonal: both go on, an old line is gone, or one came.
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
    came = [line for (_, at), (_, to) in pairwise(inside) for line in numbers[at + 1 : to]]
    same = {row for row, at in inside if text[at] == wanted[row]}
    return Alignment(
        {solid[row]: numbers[there[row]] for row in sorted(same)},
        {solid[row]: numbers[at] for row, at in inside if row not in same},
        frozenset(solid[row] for row in range(len(solid)) if row not in there),
        tuple(came),
        score,
    )
