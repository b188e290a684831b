"""The ways to lay old lines over a file that has most of them, near each other and in order.

Owns which of the file's lines each old line may be; never whether that is certain enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from agent_ls.edits.keys import folded, trimmed
from agent_ls.edits.locate import Ground, Keyed

_MAX_COMMON = 64
"""A line that stands more often says nothing about the place."""
_MAX_DIAGONALS = 8
_MAX_SHIFT = 3
"""More lines than this come or gone between neighbours, and they are none any more."""
_MAX_GAP = 12
_SLACK = 8
_MAX_WIDE = 40
"""In an old text of more lines than this, common ones count only on the straight way: there are
too many others for each."""
_MIN_LETTERS = 4
_UNKNOWN = "\U0010ffff"
_TURN, _STEP = 0.3, 0.2
"""What it costs that lines came or went between two: the straight way wins ties, and a brace
further down proves nothing."""
_HELD = 9.0
"""What it says that a line is where it is known to be: more than all that says nothing."""
_CHEAP = 0.2
"""How dear a turn is for lines that say nothing, so that all that are there find a place."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """One way to lay the old lines over the file."""

    lines: dict[int, int]
    """Numbers of old lines to numbers of file lines, in order."""
    context: float
    """How much of the lines that stay is there."""
    total: float
    score: float
    """The total, less what the way's turns cost."""
    apart: int
    """How many old lines the file does not have, and between how many it has new ones."""


class _Way(NamedTuple):
    score: float
    link: int = -1
    """The pair before."""
    kind: int = 0
    """Which of that pair's ways."""


_NONE = _Way(-1e9)


def alignments(keyed: Keyed, old: list[str], solid: list[int], core: set[int]) -> list[Alignment]:
    """Return the likeliest ways to lay the old lines over the file, the fullest first."""
    wanted = [keyed.number_of(keyed.key(old[number])) or _UNKNOWN for number in solid]
    weights = [weight(old[number]) for number in solid]
    found: dict[tuple[tuple[int, int], ...], Alignment] = {}
    for diagonal in _diagonals(keyed, wanted):
        score, chain = _chain(list(_pairs(keyed, wanted, diagonal)), weights, diagonal)
        lines = {solid[row]: keyed.numbers[at] for row, at in chain}
        if lines:
            found[tuple(lines.items())] = Alignment(
                lines,
                sum(weights[row] for row, _ in chain if solid[row] not in core),
                sum(weights[row] for row, _ in chain),
                score,
                len(solid) - len(chain) + _turns(chain),
            )
    return sorted(found.values(), key=lambda one: (-one.score, -one.context))


def _turns(chain: list[tuple[int, int]]) -> int:
    """Return between how many neighbours the file has lines that the old text has not."""
    return sum(below == row + 1 and there > at + 1 for (row, at), (below, there) in pairwise(chain))


def weight(line: str) -> float:
    """Return how much it says that this line is there: little for a brace."""
    return 1 if sum(char.isalnum() for char in line) >= _MIN_LETTERS else 0.25


def with_fillers(
    ground: Ground, old: list[str], solid: list[int], core: set[int], best: Alignment
) -> Alignment:
    """Return the alignment with the lines that say nothing, braces mostly, where they are found
    once the others have their places: behind what came there, or where what stood there is gone.

    They prove nothing, so what it says stays the same; one in another indentation is of another
    block. ``core`` are the lines that the edit removes, which stay where they are.
    """
    held = {row: line for row, line in best.lines.items() if row in core or weight(old[row]) == 1}
    if not held:
        return best
    keyed, file = ground.keyed(folded), ground.file.lines
    wanted = [keyed.number_of(folded(old[number])) or _UNKNOWN for number in solid]
    first = next(at for at, row in enumerate(solid) if row in held)
    diagonal = bisect_left(keyed.numbers, held[solid[first]]) - first

    def is_there(row: int, line: int) -> bool:
        if row in held:
            return held[row] == line
        return weight(old[row]) < 1 and trimmed(file[line]) == trimmed(old[row])

    pairs = [
        (at, there)
        for at, there in _pairs(keyed, wanted, diagonal)
        if is_there(solid[at], keyed.numbers[there])
    ]
    weights = [_HELD if row in held else weight(old[row]) for row in solid]
    _, chain = _chain(pairs, weights, diagonal, _CHEAP)
    lines = {solid[at]: keyed.numbers[there] for at, there in chain}
    return replace(best, lines=lines, apart=len(solid) - len(chain) + _turns(chain))


def _diagonals(keyed: Keyed, wanted: list[str]) -> list[int]:
    """Return how far down the file the old lines may begin, the likeliest first."""
    votes: Counter[int] = Counter()
    for row, char in enumerate(wanted):
        if char == _UNKNOWN or keyed.text.count(char) > _MAX_COMMON:
            continue
        at = keyed.text.find(char)
        while at >= 0:
            votes[at - row] += 1
            at = keyed.text.find(char, at + 1)
    return [diagonal for diagonal, _ in votes.most_common(_MAX_DIAGONALS)]


def _pairs(keyed: Keyed, wanted: list[str], diagonal: int) -> Iterator[tuple[int, int]]:
    """Yield which old line may be which one of the file, near a diagonal, in order."""
    is_long = len(wanted) > _MAX_WIDE
    common = {char for char in set(wanted) if is_long and keyed.text.count(char) > _MAX_COMMON}
    for row, char in enumerate(wanted):
        if char == _UNKNOWN:
            continue
        slack = 0 if char in common else _SLACK
        low, high = max(0, diagonal + row - slack), max(0, diagonal + row + slack + 1)
        at = keyed.text.find(char, low, high)
        while at >= 0:
            yield row, at
            at = keyed.text.find(char, at + 1, high)


def _chain(
    pairs: list[tuple[int, int]], weights: list[float], diagonal: int, dear: float = 1.0
) -> tuple[float, list[tuple[int, int]]]:
    """Return the pairs that go together and say most, of all ways that touch the diagonal.

    Shape: ``dear`` is how dear turns are.
    """
    # For each pair what the best way to it says: one that has not touched, and one that has.
    ways: list[tuple[_Way, _Way]] = []
    first = 0
    for number, (row, at) in enumerate(pairs):
        while pairs[first][0] < row - _MAX_GAP:
            first += 1
        free, tied = _Way(weights[row]), _NONE
        for other in range(first, number):
            above, there = pairs[other]
            shift = abs((at - row) - (there - above))
            if above >= row or there >= at or shift > _MAX_SHIFT:
                continue
            cost = dear * (_TURN + _STEP * shift) if shift else 0
            free = max(free, _Way(ways[other][0].score + weights[row] - cost, other, 0))
            tied = max(tied, _Way(ways[other][1].score + weights[row] - cost, other, 1))
        if at - row == diagonal:
            tied = max(free, tied)
        ways.append((free, tied))
    last = max(range(len(pairs)), key=lambda number: ways[number][1].score, default=-1)
    chain: list[tuple[int, int]] = []
    score, kind = ways[last][1].score if last >= 0 else 0.0, 1
    while last >= 0:
        chain.append(pairs[last])
        last, kind = ways[last][kind].link, ways[last][kind].kind
    return score, chain[::-1]
