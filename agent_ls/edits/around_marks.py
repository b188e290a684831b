"""A wish whose old text leaves lines out: each part is placed, and what lies between stays."""

from __future__ import annotations

import math
import re

from agent_ls.edits.drifted import heads_a_block
from agent_ls.edits.elisions import unclear_marker
from agent_ls.edits.indents import indent_of, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground, Place, places
from agent_ls.edits.marks import stands_for_others
from agent_ls.edits.placing import find, put
from agent_ls.edits.refusing import not_found
from agent_ls.edits.requests import Hunk, Refused, Wish
from agent_ls.edits.spans import Span, of_blocks
from agent_ls.edits.texts import hunk_of, lines_of

_MAX_PARTS = 16
"""With more each may stand in many places, and to try all of them takes long."""
_CONTROL = re.compile(
    r"\W|(?:if|else|elif|for|while|switch|try|catch|except|finally|do|with|case|default|match|loop|"
    r"unless|when|select|return)\b"
)
"""How a line begins that opens a block of a definition, and no definition."""


def around_marks(ground: Ground, wish: Wish, number: int) -> list[Span] | Refused:
    """Return the wish whose old text leaves lines out, carried out around them."""
    old, new = lines_of(wish)
    olds, news = _parts(ground, old), _parts(ground, new)
    marks = [line for line in old if stands_for_others(line, ground.file.flat)]
    if len(olds) != len(news) or len(olds) > _MAX_PARTS:
        return unclear_marker()
    spans: list[Span] = []
    above: list[Place] = []
    for at, (one, other) in enumerate(zip(olds, news, strict=True)):
        if not any(stripped(line) for line in one):
            if one != other:
                return unclear_marker()
            continue
        known = _places(ground, one, marks[at : at + 1])
        if not known:
            return not_found(ground, "\n".join(one))
        inside = _behind(ground, known, above, changes=olds[at:] != news[at:])
        if not inside:
            return _elsewhere(known[0], above[0].past)
        if one == other:
            above = inside
            continue
        hunk = hunk_of(one, other, wish.line if at == 0 else None)
        spot = _spot(ground, hunk, inside, above)
        if isinstance(spot, Refused):
            return spot
        found = put(ground, hunk, spot)
        if isinstance(found, Refused):
            return found
        spans += of_blocks(ground, found, number)
        above = [spot]
    return spans or Refused("Old and new text are equal, so there is nothing to change.", "equal")


def _places(ground: Ground, part: list[str], mark: list[str]) -> list[Place]:
    """Return the places of a part, but for those where the mark below it is a line of the file.

    There it stands for nothing, and the old text differs from the file further down.
    """
    lines, below = ground.file.lines, [stripped(line) for line in mark]
    return [
        place
        for place in places(ground, part)
        if not below or [stripped(line) for line in lines[place.past : place.past + 1]] != below
    ]


def _behind(
    ground: Ground, known: list[Place], above: list[Place], *, changes: bool
) -> list[Place]:
    """Return the places in the block begun above, or only behind it where nothing changes."""
    inside = [place for place in known if not above or _is_inside(ground, above, place.first)]
    if inside or changes:
        return inside
    return [place for place in known if any(one.past <= place.first for one in above)]


def _is_inside(ground: Ground, above: list[Place], first: int) -> bool:
    """Tell whether a line may belong to one of the parts above.

    It does not where it is deeper than the last line there that heads a block, and another such
    line, no deeper than that one, is in between.
    """
    lines = ground.file.lines
    inner = width(indent_of(lines[first]))
    for place in above:
        heads = [line for line in lines[place.first : place.past] if _heads(line)]
        edge = width(indent_of(heads[-1])) if heads else inner
        between = lines[place.past : first]
        if place.past <= first and not (
            inner > edge and any(_heads(line, up_to=edge) for line in between)
        ):
            return True
    return False


def _heads(line: str, up_to: float = math.inf) -> bool:
    body = stripped(line)
    is_head = heads_a_block(body, ()) and not _CONTROL.match(body)
    return is_head and width(indent_of(line)) <= up_to


def _spot(ground: Ground, hunk: Hunk, inside: list[Place], above: list[Place]) -> Place | Refused:
    """Return the place of a part that changes, ``inside`` being those in the block begun above."""
    first = inside[0].first
    if len(inside) > 1 and any(
        all(line in ground.blanks for line in range(one.past, first)) for one in above
    ):
        # The mark would stand for nothing before the first, and for lines before the others.
        return unclear_marker()
    return find(ground, hunk, inside)


def _elsewhere(place: Place, low: int) -> Refused:
    return Refused(
        f"What comes behind the mark for left-out code stands at line {place.first + 1}, but not "
        f"in the block of what comes before the mark, at line {low}. Someone changed it, or it is "
        "another block. Give the lines as they are in the file.",
        "conflict",
    )


def _parts(ground: Ground, lines: list[str]) -> list[list[str]]:
    """Return the runs of lines between marks."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if stands_for_others(line, ground.file.flat):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts
