"""Place a wish whose old text omits lines: place each part, keep the lines between them."""

from __future__ import annotations

import re

from agent_ls.edits.elision import stands_for_others, unclear_marker
from agent_ls.edits.fuzzy_context import heads_a_block
from agent_ls.edits.indents import indent_of, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import IndexedText, Place, places
from agent_ls.edits.placing import find, put
from agent_ls.edits.refusing import not_found
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.spans import Span, of_blocks
from agent_ls.edits.texts import hunk_of, lines_of

_MAX_PARTS = 16
"""With more parts, trying all combinations of places takes too long."""
_CONTROL = re.compile(
    r"\W|(?:if|else|elif|for|while|switch|try|catch|except|finally|do|with|case|default|match|loop|"
    r"unless|when|select|return)\b"
)
"""Start of a line that opens a control block (``if``, ``for``), not a definition."""


def around_marks(indexed: IndexedText, request: EditRequest, number: int) -> list[Span] | Refused:
    """Return the spans of a wish whose old text omits lines; the omitted lines stay."""
    olds, news = (_parts(indexed, lines) for lines in lines_of(request))
    if len(olds) != len(news) or len(olds) > _MAX_PARTS:
        return unclear_marker()
    spans: list[Span] = []
    above: list[Place] = []
    for at, (one, other) in enumerate(zip(olds, news, strict=True)):
        if not any(map(stripped, one)):
            if one != other:
                return unclear_marker()
            continue
        inside = _inside(indexed, one, above, stays=olds[at:] == news[at:])
        if isinstance(inside, Refused):
            return inside
        if one != other:
            if len(inside) > 1 and _is_right_below(indexed, inside[0].first, above):
                # At one place the mark stands for no lines, at another it does: ambiguous.
                return unclear_marker()
            hunk = hunk_of(one, other, request.line if at == 0 else None)
            spot = find(indexed, hunk, inside)
            if isinstance(spot, Refused):
                return spot
            found = put(indexed, hunk, spot)
            if isinstance(found, Refused):
                return found
            spans += of_blocks(indexed, found, number)
            inside = [spot]
        above = inside
    return spans or Refused("Old and new text are equal, so there is nothing to change.", "equal")


def _parts(indexed: IndexedText, lines: list[str]) -> list[list[str]]:
    """Split lines at the marks."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if stands_for_others(line, indexed.file.flat):
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _inside(
    indexed: IndexedText, part: list[str], above: list[Place], *, stays: bool
) -> list[Place] | Refused:
    """Return the places of a part inside the block of the part above.

    With ``stays``, when nothing changes from here on, any place below will do.
    """
    known = places(indexed, part)
    if not known:
        return not_found(indexed, "\n".join(part))
    inside = [place for place in known if not above or _is_inside(indexed, above, place.first)]
    if not inside and stays:
        inside = [place for place in known if any(up.past <= place.first for up in above)]
    return inside or _elsewhere(known[0], above[0].past)


def _is_inside(indexed: IndexedText, above: list[Place], first: int) -> bool:
    """Tell whether a line may belong to the block of one of the parts above.

    It does not if it is deeper than the last block head there and another head, no deeper than
    that one, stands in between.
    """
    lines = indexed.file.lines
    inner = width(indent_of(lines[first]))
    for place in above:
        heads = [line for line in lines[place.first : place.past] if _heads(line)]
        edge = width(indent_of(heads[-1])) if heads else inner
        between = (line for line in lines[place.past : first] if width(indent_of(line)) <= edge)
        if place.past <= first and (inner <= edge or not any(map(_heads, between))):
            return True
    return False


def _heads(line: str) -> bool:
    body = stripped(line)
    return heads_a_block(body, ()) and not _CONTROL.match(body)


def _is_right_below(indexed: IndexedText, first: int, above: list[Place]) -> bool:
    return any(all(line in indexed.blanks for line in range(up.past, first)) for up in above)


def _elsewhere(place: Place, low: int) -> Refused:
    return Refused(
        f"What comes behind the mark for left-out code stands at line {place.first + 1}, but not "
        f"in the block of what comes before the mark, at line {low}. Someone changed it, or it is "
        "another block. Give the lines as they are in the file.",
        "conflict",
    )
