"""Whose indentation the new text has where the old text lost its own.

The old text may be indented otherwise than the file. The new text then mostly is so too, and has
to be shifted with it; but some is written as the file is. Owns the evidence for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground, Place


def old_as_spoken(
    ground: Ground, place: Place, old: Sequence[str], new: Sequence[str]
) -> Sequence[str]:
    """Return the old lines in the indentation that the new ones speak of: their own or the file's.

    Shape: as many lines as before.
    """
    file = ground.file.lines
    theirs = [
        line if number is None else indent_of(file[number]) + line[len(indent_of(line)) :]
        for line, number in zip(old, place.at, strict=True)
    ]
    ours, others, news = (
        [line for line in lines if stripped(line)] for lines in (old, theirs, new)
    )
    if ours == others or not news or indent_of(news[0]) != indent_of(others[0]):
        return old
    if [stripped(line) for line in ours] == [stripped(line) for line in news]:
        # Indentation is all that changes, so both texts have to be read the same way.
        return old
    if not all(_is_whole(line, ground.style.unit) or line in others for line in news):
        # The new text has steps that the file has not, so it speaks of its own.
        return old
    edges = [_edge(ours[at], others[at], news[at]) for at in (0, -1)]
    if any(edges):
        return theirs if sum(edges) > 0 else old
    return theirs if LCSseq.similarity(others, news) > LCSseq.similarity(ours, news) else old


def _is_whole(line: str, unit: str) -> bool:
    """Tell whether a line is indented by whole steps of the file."""
    lead = indent_of(line)
    return not unit or lead == unit * (len(lead) // len(unit))


def _edge(ours: str, theirs: str, new: str) -> int:
    """Return 1 when a line that stays at an edge is indented as in the file, -1 as in the old text.

    Lines at the edges are quoted to mark the place, so an edit seldom indents them anew.
    """
    if stripped(ours) != stripped(new) or indent_of(ours) == indent_of(theirs):
        return 0
    return (indent_of(new) == indent_of(theirs)) - (indent_of(new) == indent_of(ours))
