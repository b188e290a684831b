"""Whether a place that is found in another dress has a rival in the dress of the old text.

A place where all lines stand, but with other indentation or blank lines, is no better than one
where they stand as they were written, all but one: that one may be meant, and somebody changed it.
"""

from __future__ import annotations

from agent_ls.edits.alignments import Alignment, alignments, weight
from agent_ls.edits.keys import stripped, trimmed
from agent_ls.edits.locate import Ground, Place, is_regular
from agent_ls.edits.requests import Hunk

_MAX_LINES = 2_000
_MIN_TOTAL = 2
"""So much has to stand there, unless the line number says that it is the place."""


def in_own_dress(ground: Ground, hunk: Hunk, place: Place) -> int | None:
    """Return the line, from 0, where the old text stands but for one line; None when nowhere.

    Shape: None also for a place in the old text's own dress, which has no rival.
    """
    old, file = hunk.old, ground.file.lines
    solid = [number for number, line in enumerate(old) if stripped(line)]
    bent = {
        number
        for number, line in enumerate(place.at)
        if line is not None and number in solid and trimmed(old[number]) != trimmed(file[line])
    }
    if (place.is_same_layout and not bent) or not 2 <= len(solid) <= _MAX_LINES:
        return None
    whole = sum(weight(old[number]) for number in solid)
    for one in alignments(ground.keyed(trimmed), old, solid, set()):
        first = min(one.lines.values())
        # A line that it lacks and the place has as it was written speaks for the place.
        is_like = set(solid) - one.lines.keys() <= bent or not is_regular(ground, old, place)
        if is_like and (first >= place.past or max(one.lines.values()) < place.first):
            is_told = hunk.line is not None and _is_at(one, hunk.line - 1)
            if one.apart <= 1 and one.total >= whole - 1 and (is_told or one.total >= _MIN_TOTAL):
                return first
    return None


def _is_at(one: Alignment, line: int) -> bool:
    row, there = min(one.lines.items())
    return there - row == line
