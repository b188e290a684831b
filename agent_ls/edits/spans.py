"""Combine the changes of one text: sorted, not overlapping, and as small as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_ls.domain.edits import Replacement
from agent_ls.edits.lines import FlatText, LineIndex
from agent_ls.edits.locate import IndexedText, Place
from agent_ls.edits.minimal import changes, in_source
from agent_ls.edits.requests import Refused
from agent_ls.edits.splice import Block


@dataclass(frozen=True, slots=True)
class Span:
    """Replace ``start:end`` of the LF text by ``text``."""

    start: int
    end: int
    text: str
    number: int
    """1-based number of the edit that wants it."""
    quoted: tuple[int, int] | None = None
    """Range of all text that the edit quotes."""


def of_blocks(
    indexed: IndexedText, blocks: Sequence[Block], number: int, quoted: Place | None = None
) -> list[Span]:
    """Return the spans of line blocks; ``quoted`` is the place of all lines the edit quotes."""
    around = None if quoted is None else indexed.file.span(quoted.first, quoted.past, [])[:2]
    return [
        Span(*indexed.file.span(one.first, one.past, one.new), number, around) for one in blocks
    ]


def joined(flat: FlatText, spans: Sequence[Span]) -> tuple[Replacement, ...] | Refused:
    """Return the replacements of all spans, or a refusal if they overlap or change nothing."""
    ordered = sorted(spans, key=_place)
    for one, other in pairwise(ordered):
        is_same = _is_doubled(flat.text, one, other) or _is_unknown(flat.text, one, other)
        if is_same or _overlap(flat.text, one, other):
            line = LineIndex(flat.text).line_of(other.start)
            who = (
                f"Edits {one.number} and {other.number} overlap"
                if one.number != other.number
                else f"Parts of edit {one.number} overlap"
            )
            return Refused(f"{who} at line {line}. Join them into one edit.", "overlap")
    found = replacements_of(flat, ordered)
    if not found:
        return Refused(
            "The file has exactly the new text already: the edit seems to be applied already. "
            "Read the file before going on.",
            "applied",
        )
    return found


def _place(span: Span) -> tuple[int, int]:
    return span.start, span.end


def _overlap(text: str, one: Span, other: Span) -> bool:
    """Tell whether both overlap, or would join two lines because the line end between is gone."""
    is_one_line = (
        one.end == other.start > 0
        and text[one.end - 1] == "\n"
        and bool(one.text and other.text)
        and not (one.text.endswith("\n") or other.text.startswith("\n"))
    )
    return other.start < one.end or _place(one) == _place(other) or is_one_line


def _is_doubled(text: str, one: Span, other: Span) -> bool:
    """Tell whether both add the same lines at one place: one addition, given twice."""
    is_added = one.start == one.end <= other.start == other.end
    is_same = one.text.strip() == other.text.strip() != ""
    return is_added and is_same and not text[one.end : other.start].strip()


def _is_unknown(text: str, one: Span, other: Span) -> bool:
    """Tell whether two changes are adjacent and one edit quotes the text the other changes."""
    if one.number == other.number or text[one.end : other.start] not in ("", "\n"):
        return False
    return _quotes(one, other) or _quotes(other, one)


def _quotes(one: Span, other: Span) -> bool:
    start, end = one.quoted or (one.start, one.end)
    return max(start, other.start) < min(end, other.end)


def replacements_of(flat: FlatText, spans: Sequence[Span]) -> tuple[Replacement, ...]:
    """Return the minimal replacements of spans that do not overlap."""
    return in_source(
        flat,
        (
            change
            for span in sorted(spans, key=_place)
            for change in changes(flat.text[span.start : span.end], span.text, span.start)
        ),
    )
