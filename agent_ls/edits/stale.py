"""The place of a hunk whose context has changed since the model read it.

Every line that the edit removes must be there; lines that only surround it may differ, and then
the file's version stays. Owns when such a place is certain: what is left of the context has to
point there, and nowhere else as well. Likeness of lines is no evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Indel

from agent_ls.edits.changes import changes_of
from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.locate import Ground, Keyed, Place, aligned
from agent_ls.edits.requests import Hunk

_MAX_COMMON = 64
"""A line that stands more often says nothing about the place."""
_MAX_DIAGONALS = 8
_MAX_LINES = 2_000
_MIN_CONTEXT = 2
"""So much of the lines that stay has to be there, in lines that say something."""
_MUCH_CONTEXT = 4
"""From here on a line at the edge, or beside an addition, may be another."""
_MAX_ALIEN = 3
"""More lines than this between neighbours, and they are none any more."""
_SLACK = 8
_MIN_LETTERS = 4
_UNKNOWN = "\U0010ffff"
_HEADER = re.compile(
    r"^(?:export |default |public |private |protected |static |async |pub |abstract |final |"
    r"inline |unsafe |template\b.*)*"
    r"(?:def|class|function\*?|func|fn|struct|interface|enum|trait|impl|module|namespace|type|"
    r"describe|it|test|section|case)\b"
)
_CALLED = re.compile(r"([\w$]{2,})\s*\(")
_NAME = re.compile(r"[\w$]{2,}")
_KEYWORDS = frozenset(
    [
        "export",
        "default",
        "public",
        "private",
        "protected",
        "static",
        "async",
        "pub",
        "abstract",
        "final",
        "inline",
        "unsafe",
        "def",
        "class",
        "function",
        "func",
        "fn",
        "struct",
        "interface",
        "enum",
        "trait",
        "impl",
        "module",
        "namespace",
        "type",
        "describe",
        "it",
        "test",
        "section",
        "case",
        "self",
    ]
)


@dataclass(frozen=True, slots=True)
class _Match:
    """One way to lay the old lines over the file."""

    lines: dict[int, int]
    """Numbers of old lines to numbers of file lines."""
    context: float
    """How much of the lines that stay is there."""
    total: float


def stale_place(ground: Ground, hunk: Hunk) -> Place | None:
    """Return the place if it is certain though some of the context differs."""
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    if not 2 <= len(solid) <= _MAX_LINES:
        return None
    core = _core(hunk)
    keyed = ground.keyed(folded)
    matches = list(_matches(keyed, old, solid, core))
    if not matches:
        return None
    best, *others = sorted(matches, key=lambda one: (-one.total, -one.context))
    is_told = _is_told(hunk, best)
    if not core <= best.lines.keys() or best.context < (1 if is_told else _MIN_CONTEXT):
        return None
    if any(_rivals(one, best) for one in others):
        return None
    missing = [number for number in solid if number not in best.lines]
    if len(missing) > max(1, (len(solid) - len(core)) // 4) or not _is_close(best):
        return None
    if not _is_held(hunk, best):
        return None
    edges = {solid[0], solid[-1]}
    if not is_told and best.context < _MUCH_CONTEXT and edges & set(missing):
        return None
    if not is_told and not _keeps_names(ground, old, solid, best, missing):
        return None
    return aligned(ground, old, dict(sorted(best.lines.items())))


def _is_told(hunk: Hunk, best: _Match) -> bool:
    """Tell whether the hunk's line number says the same."""
    number, there = next(iter(sorted(best.lines.items())))
    return hunk.line is not None and there - number == hunk.line - 1


def _core(hunk: Hunk) -> set[int]:
    """Return the numbers of old lines that the edit removes."""
    found: set[int] = set()
    at = 0
    for line in hunk.lines:
        if line.sign == "+":
            continue
        if line.sign == "-" and stripped(line.text):
            found.add(at)
        at += 1
    return found


def _matches(keyed: Keyed, old: list[str], solid: list[int], core: set[int]) -> Iterator[_Match]:
    wanted = [keyed.number_of(folded(old[number])) or _UNKNOWN for number in solid]
    votes: Counter[int] = Counter()
    for row, char in enumerate(wanted):
        if char == _UNKNOWN or keyed.text.count(char) > _MAX_COMMON:
            continue
        at = keyed.text.find(char)
        while at >= 0:
            votes[at - row] += 1
            at = keyed.text.find(char, at + 1)
    seen: set[tuple[int, ...]] = set()
    goal = "".join(wanted)
    weights = {number: _weight(old[number]) for number in solid}
    for diagonal, _ in votes.most_common(_MAX_DIAGONALS):
        low = max(0, diagonal - _SLACK)
        region = keyed.text[low : diagonal + len(solid) + _SLACK]
        lines = {
            solid[op.src_start + step]: keyed.numbers[low + op.dest_start + step]
            for op in Indel.opcodes(goal, region)
            if op.tag == "equal"
            for step in range(op.src_end - op.src_start)
        }
        if not lines or tuple(lines.values()) in seen:
            continue
        seen.add(tuple(lines.values()))
        yield _Match(
            lines,
            sum(weights[number] for number in lines if number not in core),
            sum(weights[number] for number in lines),
        )


def _weight(line: str) -> float:
    return 1 if sum(char.isalnum() for char in line) >= _MIN_LETTERS else 0.25


def _rivals(one: _Match, best: _Match) -> bool:
    """Tell whether another place could be meant as well."""
    if set(one.lines.values()) & set(best.lines.values()):
        return one.total >= best.total and one.lines != best.lines
    return one.total >= best.total or one.context >= best.context


def _is_close(best: _Match) -> bool:
    """Tell whether the lines stand about as close as in the old text."""
    return all(
        there - here - 1 <= _MAX_ALIEN + other - one
        for (one, here), (other, there) in pairwise(sorted(best.lines.items()))
    )


def _is_held(hunk: Hunk, best: _Match) -> bool:
    """Tell whether each change has the lines beside it that it needs.

    Lines that are replaced hold themselves and need one neighbour; an addition needs both, or
    one and much else.
    """
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    for change in changes_of(hunk):
        above = next((n for n in reversed(solid) if n < change.low), -1)
        below = next((n for n in solid if n >= change.high), -1)
        inner = [n for n in solid if change.low <= n < change.high]
        sides = [number for number in (above, below) if number >= 0]
        if not inner:
            there = sum(number in best.lines for number in sides)
            if there < len(sides) and (not there or best.context < _MUCH_CONTEXT):
                return False
            if len(sides) == 2 and _alien(hunk, best, above, below):
                return False
        elif not any(number in best.lines for number in sides) or any(
            _alien(hunk, best, *pair) for pair in ((above, inner[0]), (inner[-1], below))
        ):
            return False
    return True


def _alien(hunk: Hunk, best: _Match, above: int, below: int) -> bool:
    """Tell whether the file has lines between two that are neighbours in the old text."""
    if above not in best.lines or below not in best.lines:
        return False
    old = hunk.old
    blanks = sum(not stripped(line) for line in old[above + 1 : below])
    return best.lines[below] - best.lines[above] - 1 > blanks + 1


def _keeps_names(
    ground: Ground, old: list[str], solid: list[int], best: _Match, missing: list[int]
) -> bool:
    """Tell whether lines that name something are still about the same thing."""
    for number in missing:
        line = stripped(old[number])
        called = _CALLED.search(line)
        if not _HEADER.match(line) and not (called and line.endswith("{")):
            continue
        names = [name for name in _NAME.findall(old[number]) if name not in _KEYWORDS]
        if called and called.group(1) not in _KEYWORDS:
            names = [called.group(1)]
        row = solid.index(number)
        above = max((best.lines[one] for one in solid[:row] if one in best.lines), default=-1)
        first = above + 1 if above >= 0 else max(0, min(best.lines.values()) - _SLACK)
        stop = min((best.lines[one] for one in solid[row:] if one in best.lines), default=None)
        between = "\n".join(ground.file.lines[first:stop])
        if names and not re.search(rf"\b{re.escape(names[0])}\b", between):
            return False
    return True
