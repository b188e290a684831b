"""Possible readings of the indentation of a hunk's new lines.

Compares the old lines with the file's lines at the place, and decides whether the new lines use
the old lines' indentation or the file's. ``splice.woven`` applies the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from agent_ls.edits.indents import Indent, indent_of, kept, learned, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import IndexedText, Place
from agent_ls.edits.requests import Hunk, Refused
from agent_ls.edits.restyling import styled


@dataclass(frozen=True, slots=True)
class Way:
    """One reading of the new lines' indentation, as maps to the file's."""

    rest: Indent
    first: Indent | None = None
    """Map for the first line of the new text, if it differs."""


def ways(
    indexed: IndexedText, hunk: Hunk, pairs: list[tuple[str, str]], news: list[str], first: int
) -> Iterator[Way]:
    """Yield the possible readings; if one is certain, only that one.

    Shape: ``pairs`` are old lines with their file lines, ``news`` the lines to add, and ``first``
    the 0-based file line where they go.
    """
    leads = [(indent_of(one), indent_of(other)) for one, other in pairs]
    if all(ours == theirs for ours, theirs in leads):
        # In a diff, indented context that equals the file's shows that the model knows the style.
        is_silent = not hunk.is_diff or all(not ours for ours, _ in leads)
        into = (
            styled(indexed, hunk.old, hunk.new, indexed.file.starts[first]) if is_silent else None
        )
        if not isinstance(into, Refused):
            yield Way(into or kept)
        return
    solid = [line for line in news if stripped(line)]
    if hunk.is_diff and all(ours == " " + theirs for ours, theirs in leads if ours != theirs):
        # Some models write a blank behind each sign.
        is_all = all(line.startswith(" ") for line in solid)
        yield Way(lambda indent: indent[1:] if is_all else indent)
    elif hunk.is_diff and all(theirs == " " + ours for ours, theirs in leads if ours != theirs):
        # Context lost the blank that is its sign; added lines may or may not have lost one.
        levels = {indent_of(line) for line in indexed.file.lines}
        new = {indent_of(line) for line in solid} - levels
        if not any(" " + lead in levels for lead in new):
            yield Way(kept)
    else:
        yield from _by_pairs(indexed, hunk, leads, solid)


def _by_pairs(
    indexed: IndexedText, hunk: Hunk, leads: list[tuple[str, str]], news: list[str]
) -> Iterator[Way]:
    """Yield the readings that follow from pairs of the old lines' and the file's indentation."""
    (o0, f0), *rest = leads
    n0 = next((indent_of(line) for line in hunk.new if stripped(line)), "")
    is_lost = not o0 and bool(f0)
    if is_lost and rest and all(ours == theirs for ours, theirs in rest):
        # Only the first old line lost its indentation; the first new line maybe did too.
        yield Way(kept, kept if n0 else _first(o0, f0))
        return
    if _is_halved(leads) and any(not indent_of(line) for line in news):
        # A new line at the margin may belong there or one level deeper.
        return
    into = learned(leads, [*hunk.old, *hunk.new], indexed.style)
    if into is not None:
        yield Way(into)
    has_kept = any(line.sign == " " and stripped(line.text) for line in hunk.lines)
    if not has_kept and n0 == f0:
        yield Way(kept)
    if not rest and is_lost and not stripped("".join(hunk.new[:1])).startswith("- "):
        # Maybe only the first line lost its indentation and the others match the file.
        yield Way(kept, _first(o0, f0))


def old_as_spoken(
    indexed: IndexedText, place: Place, old: list[str], new: Sequence[str]
) -> list[str]:
    """Return the old lines in the indentation that the new lines use: their own or the file's."""
    file = indexed.file.lines
    theirs = [
        line if number is None else indent_of(file[number]) + line[len(indent_of(line)) :]
        for line, number in zip(old, place.at, strict=True)
    ]
    if old == theirs:
        return old
    ours, others, news = (
        [line for line in lines if stripped(line)] for lines in (old, theirs, new)
    )
    if not news or indent_of(news[0]) != indent_of(others[0]):
        return old
    if [stripped(line) for line in ours] == [stripped(line) for line in news]:
        # Only indentation changes, so both texts have to be read the same way.
        return old
    if not all(_is_whole(line, indexed.style.unit) or line in others for line in news):
        # The new text has steps that the file lacks, so it uses its own indentation.
        return old
    return theirs if LCSseq.similarity(others, news) > LCSseq.similarity(ours, news) else old


def _is_whole(line: str, unit: str) -> bool:
    """Tell whether a line is indented by whole levels of the file."""
    lead = indent_of(line)
    return not unit or lead == unit * (len(lead) // len(unit))


def _is_halved(leads: list[tuple[str, str]]) -> bool:
    """Tell whether all old lines have one indentation that is a whole fraction of the file's."""
    size, there = map(width, leads[0])
    return len(set(leads)) == 1 and 0 < size < there and there % size == 0


def _first(ours: str, theirs: str) -> Indent:
    def shifted(indent: str) -> str | None:
        if theirs.endswith(ours):
            return theirs[: len(theirs) - len(ours)] + indent
        return theirs if indent == ours else None

    return shifted
