"""The place of a hunk whose context has changed since the model read it.

Every line that the edit removes must be there; lines that only surround it may differ, and then
the file's version stays. Owns when such a place is certain: what is left of the context has to
point there, and nowhere else as well. Likeness of lines is no evidence.
"""

from __future__ import annotations

import re

from agent_ls.edits.alignments import Alignment, alignments
from agent_ls.edits.changes import changes_of
from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.locate import Ground, Place, aligned
from agent_ls.edits.requests import Hunk

_MAX_LINES = 2_000
_MIN_CONTEXT = 2
"""So much of the lines that stay has to be there, in lines that say something."""
_MIN_TOTAL = 3
"""The same for all old lines, where one at the edge, or beside an addition, is another."""
_NEAR = 8
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
    is_told = _is_told(hunk, best)
    if not core <= best.lines.keys() or best.context < (1 if is_told else _MIN_CONTEXT):
        return None
    if any(_rivals(one, best) for one in others):
        return None
    missing = [number for number in solid if number not in best.lines]
    if len(missing) > max(1, (len(solid) - len(core)) // 4):
        return None
    if not _is_held(hunk, best):
        return None
    edges = {solid[0], solid[-1]}
    if not is_told and best.total < _MIN_TOTAL and edges & set(missing):
        return None
    if not is_told and not _keeps_names(ground, old, solid, best, missing):
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


def _keeps_names(
    ground: Ground, old: list[str], solid: list[int], best: Alignment, missing: list[int]
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
        first = above + 1 if above >= 0 else max(0, min(best.lines.values()) - _NEAR)
        stop = min((best.lines[one] for one in solid[row:] if one in best.lines), default=None)
        between = "\n".join(ground.file.lines[first:stop])
        if names and not re.search(rf"\b{re.escape(names[0])}\b", between):
            return False
    return True
