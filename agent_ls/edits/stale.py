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

from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.locate import Ground, Keyed, Place, aligned
from agent_ls.edits.requests import Hunk

_MAX_COMMON = 64
"""A line that stands more often says nothing about the place."""
_MAX_DIAGONALS = 8
_MAX_LINES = 2_000
_MIN_CONTEXT = 2
"""So much of the lines that stay has to be there, in lines that say something."""
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
    if not core <= best.lines.keys() or best.context < _MIN_CONTEXT:
        return None
    if any(_rivals(one, best) for one in others):
        return None
    missing = [number for number in solid if number not in best.lines]
    if len(missing) > max(1, (len(solid) - len(core)) // 4) or not _is_close(best):
        return None
    if not _is_held(hunk, best) or not _keeps_names(ground, old, solid, best, missing):
        return None
    return aligned(ground, len(old), dict(sorted(best.lines.items())))


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
    """Tell whether each change has a line beside it, or in it, that is where it should be."""
    signs = [line.sign for line in hunk.lines if stripped(line.text) or line.sign == "+"]
    numbers: list[int] = []
    at = 0
    for line in hunk.lines:
        if stripped(line.text) or line.sign == "+":
            numbers.append(at)
        at += line.sign != "+"
    row = 0
    while row < len(signs):
        if signs[row] == " ":
            row += 1
            continue
        start = row
        while row < len(signs) and signs[row] != " ":
            row += 1
        above = start > 0 and numbers[start - 1] in best.lines
        below = row < len(signs) and numbers[row] in best.lines
        if not above and not below:
            return False
    return True


def _keeps_names(
    ground: Ground, old: list[str], solid: list[int], best: _Match, missing: list[int]
) -> bool:
    """Tell whether lines that name something are still about the same thing."""
    for number in missing:
        if not _HEADER.match(stripped(old[number])):
            continue
        names = [name for name in _NAME.findall(old[number]) if name not in _KEYWORDS]
        row = solid.index(number)
        above = max((best.lines[one] for one in solid[:row] if one in best.lines), default=-1)
        first = above + 1 if above >= 0 else max(0, min(best.lines.values()) - _SLACK)
        stop = min((best.lines[one] for one in solid[row:] if one in best.lines), default=None)
        between = "\n".join(ground.file.lines[first:stop])
        if names and not re.search(rf"\b{re.escape(names[0])}\b", between):
            return False
    return True
