"""Whether changes have the lines beside them that they need, where some of the context differs."""

from __future__ import annotations

from agent_ls.edits.alignments import Alignment
from agent_ls.edits.changes import changes_of
from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.locate import Ground
from agent_ls.edits.requests import Hunk

_MIN_BESIDE = 3
"""So much has to stay around an addition of whose two neighbours only one is there."""


def is_held(ground: Ground, hunk: Hunk, best: Alignment) -> bool:
    """Tell whether each change has the lines beside it that it needs.

    One neighbour has to be there, with nothing new between. Lines that are replaced hold
    themselves besides; an addition without its other neighbour needs more around it.
    """
    old, known = hunk.old, ground.keyed(folded).numbers
    is_first, is_last = known[0] in best.lines.values(), known[-1] in best.lines.values()
    solid = [number for number, line in enumerate(old) if stripped(line)]
    for change in changes_of(hunk):
        above = next((n for n in reversed(solid) if n < change.low), -1)
        below = next((n for n in solid if n >= change.high), -1)
        inner = [n for n in solid if change.low <= n < change.high]
        sides = [number for number in (above, below) if number >= 0]
        there = sum(number in best.lines for number in sides)
        if not inner:
            there += (above < 0 and is_first) or (below < 0 and is_last)
            if not there or (there < 2 and best.context < _MIN_BESIDE):
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
