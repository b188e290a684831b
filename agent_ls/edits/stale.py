"""The place of a hunk whose context has changed since the model read it.

Every line that the edit removes must be there; lines that only surround it may differ, and then
the file's version stays. Owns when such a place is certain: what is left of the context has to
point there, and nowhere else as well. Likeness of lines is no evidence.
"""

from __future__ import annotations

import re
from itertools import islice

from rapidfuzz import fuzz

from agent_ls.edits.alignments import Alignment, alignments
from agent_ls.edits.changes import changes_of
from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.locate import Ground, Place, aligned
from agent_ls.edits.requests import Hunk

_MAX_LINES = 2_000
_MIN_CONTEXT = 2
"""So much of the lines that stay has to be there, in lines that say something."""
_MIN_TOTAL = 3
"""The same for all old lines."""
_MUCH_CONTEXT = 4
"""The same where the line that differs is one that tells a place from others like it."""
_MUCH = 5
"""The same for all old lines where the line that differs is gone."""
_MIN_ALIKE = 60.0
"""A line less alike than this was not changed by someone: it is another one."""
_HEADER = re.compile(
    r"^(?:export |default |public |private |protected |static |async |pub |abstract |final |"
    r"inline |unsafe |template\b.*)*"
    r"(?:def|class|function\*?|func|fn|struct|interface|enum|trait|impl|module|namespace|type|"
    r"describe|it|test|section|case)\b"
)
_CALLED = re.compile(r"([\w$]{2,})\s*\(")
_OPENERS = ("{", "(", "[", ":")
_NAME = re.compile(r"[\w$]+")
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


def stale_place(ground: Ground, hunk: Hunk) -> Place | None:
    """Return the place if it is certain though some of the context differs."""
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    if not 2 <= len(solid) <= _MAX_LINES:
        return None
    core = _core(hunk)
    found = alignments(ground.keyed(folded), old, solid, core)
    if not found:
        return None
    best, *others = found
    if not core <= best.lines.keys() or any(_rivals(one, best) for one in others):
        return None
    missing = [number for number in solid if number not in best.lines]
    if not _is_held(hunk, best):
        return None
    if _is_told(hunk, best):
        if best.context < 1 or len(missing) > max(1, (len(solid) - len(core)) // 4):
            return None
    elif (
        best.context < _MIN_CONTEXT
        or best.total < _MIN_TOTAL
        or len(missing) > max(1, len(solid) // 8)
        or not all(_is_changed(ground, old, solid, best, number) for number in missing)
        or not _is_supported(hunk, solid, best, missing)
    ):
        return None
    return aligned(ground, old, dict(sorted(best.lines.items())))


def _is_told(hunk: Hunk, best: Alignment) -> bool:
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


def _rivals(one: Alignment, best: Alignment) -> bool:
    """Tell whether another place could be meant as well."""
    if set(one.lines.values()) & set(best.lines.values()):
        return one.score >= best.score
    return one.score >= best.score or one.context >= best.context


def _is_held(hunk: Hunk, best: Alignment) -> bool:
    """Tell whether each change has the lines beside it that it needs.

    One neighbour has to be there, with nothing new between. Lines that are replaced hold
    themselves besides; an addition without its other neighbour needs more around it.
    """
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    for change in changes_of(hunk):
        above = next((n for n in reversed(solid) if n < change.low), -1)
        below = next((n for n in solid if n >= change.high), -1)
        inner = [n for n in solid if change.low <= n < change.high]
        sides = [number for number in (above, below) if number >= 0]
        there = sum(number in best.lines for number in sides)
        if not inner:
            if not there or (there < len(sides) and best.context < _MIN_TOTAL):
                return False
            if there == 2 and _alien(hunk, best, above, below):
                return False
        elif not there or any(
            _alien(hunk, best, *pair) for pair in ((above, inner[0]), (inner[-1], below))
        ):
            return False
    return True


def _alien(hunk: Hunk, best: Alignment, above: int, below: int) -> bool:
    """Tell whether the file has lines between two that are neighbours in the old text."""
    if above not in best.lines or below not in best.lines:
        return False
    old = hunk.old
    blanks = sum(not stripped(line) for line in old[above + 1 : below])
    return best.lines[below] - best.lines[above] - 1 > blanks + 1


def _is_supported(hunk: Hunk, solid: list[int], best: Alignment, missing: list[int]) -> bool:
    """Tell whether there is much around a line whose change may mean that it is another place.

    That is the line a block begins with, and the one beside an addition.
    """
    if best.context >= _MUCH_CONTEXT:
        return True
    if solid[0] in missing and stripped(hunk.old[solid[0]]).endswith(_OPENERS):
        return False
    for change in changes_of(hunk):
        above = next((n for n in reversed(solid) if n < change.low), -1)
        below = next((n for n in solid if n >= change.high), -1)
        is_addition = not any(change.low <= n < change.high for n in solid)
        if is_addition and {above, below} & set(missing):
            return False
    return True


def _is_changed(
    ground: Ground, old: list[str], solid: list[int], best: Alignment, number: int
) -> bool:
    """Tell whether the line that differs is the same one, changed: alike, and about one thing."""
    there = _in_place_of(ground, solid, best, number)
    line = stripped(old[number])
    if not there:
        return best.total >= _MUCH and not _names(line)
    nearest = max(there, key=lambda one: fuzz.ratio(line, one))
    known = set(_NAME.findall(nearest))
    return fuzz.ratio(line, nearest) >= _MIN_ALIKE and known.issuperset(_names(line))


def _in_place_of(ground: Ground, solid: list[int], best: Alignment, number: int) -> list[str]:
    """Return the lines that the file has where an old line should be."""
    row = solid.index(number)
    lines = ground.file.lines
    above = max((best.lines[one] for one in solid[:row] if one in best.lines), default=None)
    below = min((best.lines[one] for one in solid[row:] if one in best.lines), default=None)
    if above is not None and below is not None:
        return [stripped(line) for line in lines[above + 1 : below] if stripped(line)]
    beyond = lines[above + 1 :] if above is not None else lines[:below][::-1]
    return [stripped(line) for line in islice(filter(stripped, beyond), 1)]


def _names(line: str) -> list[str]:
    """Return what a line that begins something calls it and its parameters."""
    if not _HEADER.match(line) and not (_CALLED.search(line) and line.endswith("{")):
        return []
    return [name for name in _NAME.findall(line) if name not in _KEYWORDS]
