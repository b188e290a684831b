"""A wish whose old text leaves lines out: each part is placed, and what lies between stays."""

from __future__ import annotations

from agent_ls.edits import elisions
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground, Place, places
from agent_ls.edits.placing import find, put
from agent_ls.edits.refusing import not_found
from agent_ls.edits.requests import Hunk, Refused
from agent_ls.edits.spans import Span, of_blocks
from agent_ls.edits.texts import Texts, hunk_of, lines_of


def around_marks(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused:
    """Return the wish whose old text leaves lines out, carried out around them."""
    old, new = lines_of(wish)
    olds, news = _parts(ground, old), _parts(ground, new)
    if len(olds) != len(news):
        return elisions.unclear_marker()
    spans: list[Span] = []
    low = 0
    for at, (one, other) in enumerate(zip(olds, news, strict=True)):
        if not any(stripped(line) for line in one):
            if one != other:
                return elisions.unclear_marker()
            continue
        known = [place for place in places(ground, one) if place.first >= low]
        if not known:
            return not_found(ground, "\n".join(one))
        hunk = hunk_of(one, other, wish.line if at == 0 else None)
        if one == other:
            low = known[0].past if len(known) == 1 or low else low
            continue
        spot = _spot(ground, hunk, known, low)
        if isinstance(spot, Refused):
            return spot
        found = put(ground, hunk, spot)
        if isinstance(found, Refused):
            return found
        spans += of_blocks(ground, found, number)
        low = spot.past
    return spans or Refused("Old and new text are equal, so there is nothing to change.", "equal")


def _spot(ground: Ground, hunk: Hunk, known: list[Place], low: int) -> Place | Refused:
    """Return the place of a part, in the block that was begun above if it is in several places."""
    if not low or len(known) == 1:
        return find(ground, hunk, known)
    if all(number in ground.blanks for number in range(low, known[0].first)):
        # The mark would stand for nothing before the first, and for lines before the others.
        return elisions.unclear_marker()
    lines = ground.file.lines
    top = len(indent_of(lines[low - 1]))
    end = low
    while end < len(lines) and (end in ground.blanks or len(indent_of(lines[end])) > top):
        end += 1
    return find(ground, hunk, [one for one in known if one.first <= end] or known)


def _parts(ground: Ground, lines: list[str]) -> list[list[str]]:
    """Return the runs of lines between marks."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if elisions.stands_for_others(line, ground.file.flat):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts
