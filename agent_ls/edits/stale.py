"""The place of a hunk whose context has changed since the model read it.

Every line that the edit removes must be there; lines that only surround it may differ, and then
the file's version stays. Owns when such a place is certain: what is left of the context has to
point there, no other place may come near, and each line that differs has to be the same line,
changed. Likeness of lines alone is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from agent_ls.edits.alignments import Alignment, alignments, weight
from agent_ls.edits.changes import changes_of
from agent_ls.edits.drifted import Fate, fate_of
from agent_ls.edits.keys import folded, stripped, trimmed
from agent_ls.edits.locate import Ground, Place, aligned
from agent_ls.edits.requests import Hunk

_MAX_LINES = 2_000
_LITTLE, _ENOUGH, _MUCH = (1, 2), (2, 3), (4, 5)
"""So much of the lines that stay, and of all old lines, has to be there, in lines that say
something."""
_NEEDED: dict[Fate, tuple[int, int]] = {
    "grown": _LITTLE,
    "reworded": _ENOUGH,
    "rewritten": _MUCH,
    "gone": _ENOUGH,
}
"""How much for what became of a line that differs; none is enough where another is there."""
_MIN_BESIDE = 3
"""So much has to stay around an addition of whose two neighbours only one is there."""
_LEAD = 2
"""By so many lines more another place has to differ to be one that does not come near."""


@dataclass(frozen=True, slots=True)
class _Drift:
    """An old line that the file has otherwise."""

    fate: Fate
    line: int | None
    """The number of the file line that it became."""


def stale_place(ground: Ground, hunk: Hunk) -> Place | None:
    """Return the place if it is certain though some of the context differs."""
    old = hunk.old
    solid = [number for number, line in enumerate(old) if stripped(line)]
    if not 2 <= len(solid) <= _MAX_LINES:
        return None
    core = _core(hunk)
    found = alignments(ground.keyed(folded), old, solid, core)
    if not found or not core <= found[0].lines.keys():
        return None
    best, *others = found
    telling = _telling(old, solid, best)
    is_told = _is_told(ground, hunk, best)
    most = (len(telling) - len(core)) // 4 if is_told else len(telling) // 8
    if len(telling) - len(best.lines) > max(1, most) or _skips(ground, old, best):
        return None
    drifts = _drifts(ground, old, telling, best)
    whole = _with_drifts(best, drifts)
    lead = 0 if is_told else _lead(ground, old, core, best)
    if not _is_held(hunk, whole) or any(_comes_near(one, best, core, lead) for one in others):
        return None
    is_cut = len(telling) < len(solid)
    is_enough = best.context >= 1 if is_told else _is_enough(best, drifts, is_cut=is_cut)
    return aligned(ground, old, whole.lines) if is_enough else None


def _telling(old: list[str], solid: list[int], best: Alignment) -> list[int]:
    """Return the lines without those at both ends that are not there and say nothing."""
    needed = [n for n in solid if n in best.lines or weight(old[n]) == 1]
    return solid[solid.index(needed[0]) : solid.index(needed[-1]) + 1]


def _skips(ground: Ground, old: list[str], best: Alignment) -> bool:
    """Tell whether lines that came between two are old ones: then it joins parts of two places."""
    known = {folded(line) for line in old if weight(line) == 1}
    return any(
        folded(line) in known
        for above, below in pairwise(best.lines.values())
        for line in ground.file.lines[above + 1 : below]
    )


def _is_told(ground: Ground, hunk: Hunk, best: Alignment) -> bool:
    """Tell whether the hunk's line number says the same, of lines that are as they were written."""
    number, there = next(iter(sorted(best.lines.items())))
    old, file = hunk.old, ground.file.lines
    return (
        hunk.line is not None
        and there - number == hunk.line - 1
        and all(trimmed(old[one]) == trimmed(file[other]) for one, other in best.lines.items())
    )


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


def _drifts(ground: Ground, old: list[str], solid: list[int], best: Alignment) -> dict[int, _Drift]:
    """Return what became of the old lines that are not there, by their numbers."""
    found: dict[int, _Drift] = {}
    for row, number in enumerate(solid):
        if number in best.lines:
            continue
        there = _in_place_of(ground, solid, best, row)
        fate = fate_of(old[number], [ground.file.lines[line] for line in there])
        is_one = len(there) == 1 and fate != "replaced"
        found[number] = _Drift(fate, there[0] if is_one else None)
    return found


def _in_place_of(ground: Ground, solid: list[int], best: Alignment, row: int) -> list[int]:
    """Return the file lines where an old line should be: one if there are as many as old ones."""
    above, below = row - 1, row + 1
    while above >= 0 and solid[above] not in best.lines:
        above -= 1
    while below < len(solid) and solid[below] not in best.lines:
        below += 1
    count = below - above - 1
    low = best.lines[solid[above]] + 1 if above >= 0 else None
    high = best.lines[solid[below]] if below < len(solid) else None
    lines = range(low or 0, len(ground.file.lines) if high is None else high)
    if low is None:
        there = list(islice(_solid(ground, lines[::-1]), count))[::-1]
    else:
        there = list(islice(_solid(ground, lines), count if high is None else None))
    return [there[row - above - 1]] if len(there) == count else there


def _solid(ground: Ground, lines: range) -> Iterator[int]:
    return (line for line in lines if line not in ground.blanks)


def _with_drifts(best: Alignment, drifts: dict[int, _Drift]) -> Alignment:
    """Return the alignment with the lines that changed laid over what they became."""
    more = {number: one.line for number, one in drifts.items() if one.line is not None}
    return replace(best, lines=dict(sorted((best.lines | more).items())))


def _lead(ground: Ground, old: list[str], core: set[int], best: Alignment) -> int:
    """Return by how much the place has to lead: less where a line is there that is in no other."""
    keyed = ground.keyed(folded)
    is_only = any(
        weight(old[number]) == 1
        and keyed.text.count(keyed.number_of(folded(old[number])) or "") == 1
        for number in best.lines.keys() - core
    )
    return _LEAD - 1 if is_only and best.total >= _ENOUGH[1] else _LEAD


def _comes_near(one: Alignment, best: Alignment, core: set[int], lead: int) -> bool:
    """Tell whether another place could be meant as well."""
    if set(one.lines.values()) & set(best.lines.values()):
        return one.score >= best.score
    behind = one.apart - best.apart
    if core <= one.lines.keys() or not lead:
        return behind < lead
    # What the edit removes may have been changed in the place that was meant.
    return behind < (_LEAD if one.context >= best.context else 1)


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
            if not there or (there < len(sides) and best.context < _MIN_BESIDE):
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


def _is_enough(best: Alignment, drifts: dict[int, _Drift], *, is_cut: bool) -> bool:
    """Tell whether enough is there for what became of the rest."""
    needed = [_NEEDED.get(one.fate) for one in drifts.values()] or [_ENOUGH]
    if is_cut:
        needed.append(_MUCH)
    return all(
        least is not None and best.context >= least[0] and best.total >= least[1]
        for least in needed
    )
