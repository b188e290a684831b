"""Detect edits that are applied already, so that they are not applied twice.

For a hunk with a place, a hunk without one, and an exact match at an offset; lines count from 0.
New text that is short is no proof by itself: the lines around it have to agree as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from agent_ls.edits.keys import stripped, trimmed
from agent_ls.edits.locate import IndexedText, Place, places
from agent_ls.edits.requests import EditRequest, Hunk

_MIN_ADDED_CHARS = 6
"""Text with fewer letters and digits than this may repeat by chance."""


def done_at(indexed: IndexedText, hunk: Hunk, place: Place) -> int | None:
    """Return the file line where a hunk is applied already; None if it is not."""
    if _is_added_around(indexed, hunk, place) or _is_indented(indexed, hunk, place):
        return place.first
    return _stands_exactly(indexed, hunk, place)


def partly_at(indexed: IndexedText, hunk: Hunk, place: Place) -> int | None:
    """Return a line between the old lines that the hunk would add again; None without one."""
    added = {
        stripped(line.text)
        for line in hunk.lines
        if line.sign == "+" and _says_something([line.text])
    }
    known = set(place.at)
    between = (number for number in range(place.first, place.past) if number not in known)
    return next((one for one in between if stripped(indexed.file.lines[one]) in added), None)


def standing_at(indexed: IndexedText, hunk: Hunk) -> int | None:
    """Return the line where the hunk's new lines begin, anywhere in the file; None if not found.

    Always None if the hunk says too little: neither enough added text nor context on both sides.
    """
    solid = [line for line in hunk.lines if stripped(line.text)]
    is_framed = solid[0].sign == solid[-1].sign == " "
    if not adds(hunk) and not (is_framed and keeps_something(hunk)):
        return None
    found = places(indexed, hunk.new)
    return found[0].first if found else None


def is_added_around(flat: str, request: EditRequest, at: int) -> bool:
    """Tell whether the text to add already surrounds an exact place."""
    if not _says_something([request.new.replace(request.old, "", 1)]):
        return False
    start = request.new.find(request.old)
    while start >= 0:
        if flat.startswith(request.new, at - start) and at >= start:
            return True
        start = request.new.find(request.old, start + 1)
    return False


def adds(hunk: Hunk) -> bool:
    """Tell whether a hunk adds enough text that finding it in the file is no coincidence."""
    return _says_something([line.text for line in hunk.lines if line.sign == "+"])


def is_telling(hunk: Hunk) -> bool:
    """Tell whether finding the hunk's new lines in the file proves that it is applied.

    If the hunk only removes lines, the new lines are its context.
    """
    is_removal = all(line.sign != "+" or not stripped(line.text) for line in hunk.lines)
    return adds(hunk) or (is_removal and keeps_something(hunk))


def keeps_something(hunk: Hunk) -> bool:
    """Tell whether the context lines have enough text to identify a place."""
    return _says_something([line.text for line in hunk.lines if line.sign == " "])


def _is_added_around(indexed: IndexedText, hunk: Hunk, place: Place) -> bool:
    """Tell whether the lines to add already surround the place."""
    if any(line.sign == "-" and stripped(line.text) for line in hunk.lines) or not adds(hunk):
        return False
    return any(
        one.first <= place.first and one.past >= place.past for one in places(indexed, hunk.new)
    )


def _is_indented(indexed: IndexedText, hunk: Hunk, place: Place) -> bool:
    """Tell whether the hunk changes only indentation and the place has the new one already."""
    window = indexed.file.lines[place.first : place.past]
    old, new, there = (
        [trimmed(line) for line in lines if stripped(line)]
        for lines in (hunk.old, hunk.new, window)
    )
    is_all = [stripped(line) for line in old] == [stripped(line) for line in new]
    return is_all and old != new and there == new


def _stands_exactly(indexed: IndexedText, hunk: Hunk, place: Place) -> int | None:
    """Return where the new lines occur exactly, if the old lines do not match the place exactly."""
    lines = indexed.file.lines
    is_exact = all(
        number is not None and trimmed(line) == trimmed(lines[number])
        for line, number in zip(hunk.old, place.at, strict=True)
    )
    at = -1
    if not is_exact and adds(hunk):
        at = f"\n{indexed.file.flat}\n".find("\n" + "\n".join(hunk.new) + "\n")
    return None if at < 0 else indexed.file.number_at(at)


def _says_something(lines: Sequence[str]) -> bool:
    said = (char for line in lines for char in line if char.isalnum())
    return sum(1 for _ in islice(said, _MIN_ADDED_CHARS)) == _MIN_ADDED_CHARS
