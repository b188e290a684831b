"""A wish whose old text leaves lines out: each part is placed, and what lies between stays."""

from __future__ import annotations

from agent_ls.edits import elisions
from agent_ls.edits.indents import indent_of, width
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
    lows: list[int] = []
    for at, (one, other) in enumerate(zip(olds, news, strict=True)):
        if not any(stripped(line) for line in one):
            if one != other:
                return elisions.unclear_marker()
            continue
        known = places(ground, one)
        if not known:
            return not_found(ground, "\n".join(one))
        inside = [place for place in known if not lows or _is_inside(ground, lows, place.first)]
        if not inside:
            return _elsewhere(one, known[0], lows[0])
        if one == other:
            lows = [place.past for place in inside]
            continue
        hunk = hunk_of(one, other, wish.line if at == 0 else None)
        spot = _spot(ground, hunk, inside, lows)
        if isinstance(spot, Refused):
            return spot
        found = put(ground, hunk, spot)
        if isinstance(found, Refused):
            return found
        spans += of_blocks(ground, found, number)
        lows = [spot.past]
    return spans or Refused("Old and new text are equal, so there is nothing to change.", "equal")


def _is_inside(ground: Ground, lows: list[int], first: int) -> bool:
    """Tell whether a line is in the block that one of the parts above opened or stands in."""
    lines = ground.file.lines
    inner = width(indent_of(lines[first]))
    for low in lows:
        top = width(indent_of(lines[low - 1]))
        between = [lines[n] for n in range(low, first) if n not in ground.blanks]
        least = top + 1 if inner > top else inner
        if low <= first and all(width(indent_of(line)) >= least for line in between):
            return True
    return False


def _spot(ground: Ground, hunk: Hunk, inside: list[Place], lows: list[int]) -> Place | Refused:
    """Return the place of a part that changes, ``inside`` being those in the block begun above."""
    first = inside[0].first
    if len(inside) > 1 and any(
        all(line in ground.blanks for line in range(low, first)) for low in lows
    ):
        # The mark would stand for nothing before the first, and for lines before the others.
        return elisions.unclear_marker()
    return find(ground, hunk, inside)


def _elsewhere(old: list[str], place: Place, low: int) -> Refused:
    return Refused(
        f"What comes behind the mark for left-out code stands at line {place.first + 1}, but not "
        f"in the block of what comes before the mark, at line {low}. Someone changed it, or it is "
        "another block. Give the lines as they are in the file.",
        "conflict",
        "\n".join(old),
    )


def _parts(ground: Ground, lines: list[str]) -> list[list[str]]:
    """Return the runs of lines between marks."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if elisions.stands_for_others(line, ground.file.flat):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts
