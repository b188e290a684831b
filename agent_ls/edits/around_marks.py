"""A wish whose old text leaves lines out: each part is placed, and what lies between stays."""

from __future__ import annotations

from agent_ls.edits import elisions
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground, Place, places
from agent_ls.edits.placing import find, put
from agent_ls.edits.refusing import not_found
from agent_ls.edits.requests import Refused
from agent_ls.edits.spans import Span, of_blocks
from agent_ls.edits.texts import Texts, hunk_of, lines_of


def around_marks(ground: Ground, wish: Texts, number: int) -> list[Span] | Refused:
    """Return the wish whose old text leaves lines out, carried out around them."""
    old, new = lines_of(wish)
    olds, news = _parts(old), _parts(new)
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
        if low and len(known) > 1:
            known = _in_block(ground, known, low) or known
        spot = find(ground, hunk, known)
        if isinstance(spot, Refused):
            return spot
        found = put(ground, hunk, spot)
        if isinstance(found, Refused):
            return found
        spans += of_blocks(ground, found, number)
        low = spot.past
    return spans or Refused("Old and new text are equal, so there is nothing to change.", "equal")


def _in_block(ground: Ground, known: list[Place], low: int) -> list[Place]:
    """Return the places before the block that was begun above ends."""
    lines = ground.file.lines
    top = len(lines[low - 1]) - len(lines[low - 1].lstrip())
    end = low
    while end < len(lines) and (
        end in ground.blanks or len(lines[end]) - len(lines[end].lstrip()) > top
    ):
        end += 1
    return [one for one in known if one.first <= end]


def _parts(lines: list[str]) -> list[list[str]]:
    """Return the runs of lines between marks."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if elisions.is_marker(line):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts
