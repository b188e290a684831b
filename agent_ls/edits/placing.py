"""One hunk put into a text: found, chosen among equals, carried out, or refused.

Owns the choice between places: hints break ties and never overrule a text that is unique.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.edits.alignments import weight
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped, trimmed
from agent_ls.edits.locate import Ground, Place, most_places, places
from agent_ls.edits.refusing import ambiguous, applied, not_found
from agent_ls.edits.requests import Hunk, Refused
from agent_ls.edits.stale import stale_place
from agent_ls.edits.weave import Block, woven

_HINT_REACH = 20
_MIN_ADDED_CHARS = 6
"""Fewer letters than this may stand twice in a row by chance."""
_MIN_AROUND = 2
"""So many lines that say something a diff has to show around an addition."""


def find(ground: Ground, hunk: Hunk, found: Sequence[Place] | None = None) -> Place | Refused:
    """Return the one place of the hunk, ``found`` being the places already narrowed down."""
    old = hunk.old
    known = places(ground, old) if found is None else list(found)
    if not known:
        return missing(ground, hunk)
    if hunk.at_end and len(known) > 1:
        last = len(ground.file.lines)
        known = [one for one in known if _is_last(ground, one, last)] or known
    if len(known) == 1:
        return known[0]
    is_all = len(known) < most_places(old)
    number = nearest_to([one.first + 1 for one in known], hunk.line) if is_all else None
    if number is None:
        return ambiguous(ground, old, [one.first for one in known], hunk.line)
    return known[number]


def missing(ground: Ground, hunk: Hunk) -> Place | Refused:
    """Return the place of a hunk whose old lines are not there as they are, if that is certain."""
    done = applied_at(ground, hunk)
    if done is not None:
        return applied(done)
    return stale_place(ground, hunk) or nowhere(ground, hunk)


def nowhere(ground: Ground, hunk: Hunk) -> Refused:
    """Return the refusal of a hunk without a place: it may have been carried out before."""
    solid = [line for line in hunk.lines if stripped(line.text)]
    is_framed = solid[0].sign == solid[-1].sign == " "
    is_said = _says_something([line.text for line in solid if line.sign == " "])
    done = places(ground, hunk.new) if is_framed and is_said else []
    return applied(done[0].first) if done else not_found(ground, "\n".join(hunk.old))


def put(ground: Ground, hunk: Hunk, place: Place) -> list[Block] | Refused:
    """Return the blocks that carry out the hunk at its place."""
    if is_applied_there(ground, hunk, place) or _is_indented_there(ground, hunk, place):
        return applied(place.first)
    if _is_slight(ground, hunk, place):
        return not_found(ground, "\n".join(hunk.old))
    done = _done_exactly(ground, hunk, place)
    return woven(ground, hunk, place) if done is None else applied(done)


def nearest_to(lines: Sequence[int], hint: int | None, reach: int = _HINT_REACH) -> int | None:
    """Return which of the lines the hint means; None unless one is clearly nearest."""
    if hint is None:
        return None
    ranked = sorted((abs(line - hint), number) for number, line in enumerate(lines))
    best, second = ranked[0][0], ranked[1][0]
    if best > reach or second < 2 * best + 1:
        return None
    return ranked[0][1]


def applied_at(ground: Ground, hunk: Hunk) -> int | None:
    """Return the number of the file line where the new lines already stand."""
    if not _says_something([line.text for line in hunk.lines if line.sign == "+"]):
        return None
    found = places(ground, hunk.new)
    return found[0].first if found else None


def is_applied_there(ground: Ground, hunk: Hunk, place: Place) -> bool:
    """Tell whether an addition already stands where it would go."""
    if any(line.sign == "-" and stripped(line.text) for line in hunk.lines):
        return False
    if not _says_something([line.text for line in hunk.lines if line.sign == "+"]):
        return False
    return any(
        one.first <= place.first and one.past >= place.past for one in places(ground, hunk.new)
    )


def _is_indented_there(ground: Ground, hunk: Hunk, place: Place) -> bool:
    """Tell whether all that the hunk would change is indentation, which the place has already."""
    window = ground.file.lines[place.first : place.past]
    old, new, there = (
        [trimmed(line) for line in lines if stripped(line)]
        for lines in (hunk.old, hunk.new, window)
    )
    is_all = [stripped(line) for line in old] == [stripped(line) for line in new]
    return is_all and old != new and there == new


def _is_slight(ground: Ground, hunk: Hunk, place: Place) -> bool:
    """Tell whether a diff shows too little to add something between lines indented otherwise."""
    if not hunk.is_diff or any(line.sign == "-" for line in hunk.lines):
        return False
    pairs = [
        (line, ground.file.lines[number])
        for line, number in zip(hunk.old, place.at, strict=True)
        if number is not None and stripped(line)
    ]
    is_shifted = all(indent_of(one) != indent_of(other) for one, other in pairs)
    return is_shifted and sum(weight(one) for one, _ in pairs) < _MIN_AROUND


def _done_exactly(ground: Ground, hunk: Hunk, place: Place) -> int | None:
    """Return where the new lines stand as they were written, if the old ones do so nowhere."""
    lines = ground.file.lines
    is_exact = all(
        number is not None and trimmed(line) == trimmed(lines[number])
        for line, number in zip(hunk.old, place.at, strict=True)
    )
    added = [line.text for line in hunk.lines if line.sign == "+"]
    if is_exact or not _says_something(added):
        return None
    at = f"\n{ground.file.flat}\n".find("\n" + "\n".join(hunk.new) + "\n")
    return None if at < 0 else ground.file.number_at(at)


def _says_something(lines: Sequence[str]) -> bool:
    return sum(char.isalnum() for line in lines for char in line) >= _MIN_ADDED_CHARS


def _is_last(ground: Ground, place: Place, last: int) -> bool:
    return all(not stripped(line) for line in ground.file.lines[place.past : last])
