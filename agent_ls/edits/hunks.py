"""Place all hunks of a diff in one text, or none.

Handles what a diff adds to the lines of a hunk: anchors, order, and line numbers as hints.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_ls.domain.edits import Replacement
from agent_ls.edits.around_marks import around_marks
from agent_ls.edits.elision import (
    added_markers,
    is_stub,
    is_sure_marker,
    stands_for_others,
    unclear_marker,
)
from agent_ls.edits.fuzzy_context import fate_of
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import folded, stripped
from agent_ls.edits.lines import FlatText
from agent_ls.edits.locate import IndexedText, Place, most_places, places
from agent_ls.edits.placing import find, missing, nearest_to, put
from agent_ls.edits.refusing import ambiguous, cut, nearest
from agent_ls.edits.requests import EditRequest, Hunk, Refused
from agent_ls.edits.spans import Span, joined, of_blocks
from agent_ls.edits.splice import Block

_IN_WORD = re.compile(r"\w")
_MAX_ABOVE = 2_000
"""Most lines above a place that are looked at for an anchor that has changed."""
_MIN_OLD = 2
"""Least old lines that a hunk needs where its anchor has changed."""
_REACH = 3
"""A model's line number breaks a tie only if it is at most this many lines off."""


@dataclass(slots=True)
class _Search:
    hunk: Hunk
    number: int
    places: list[Place]


def place_hunks(text: str, hunks: Sequence[Hunk]) -> tuple[Replacement, ...] | Refused:
    """Return the sorted replacements of all hunks, or why the diff is refused."""
    flat = FlatText(text)
    indexed = IndexedText(flat.text)
    spans: list[Span] = []
    searches: list[_Search] = []
    changes_any = any(hunk.old != hunk.new for hunk in hunks)
    for number, hunk in enumerate(hunks, 1):
        if changes_any and hunk.old == hunk.new:
            continue
        bare = None
        if not any(stripped(line) for line in hunk.old):
            bare = _without_old(indexed, hunk, number)
        elif _leaves_out(indexed, hunk):
            old, new = "\n".join(hunk.old), "\n".join(hunk.new)
            bare = around_marks(indexed, EditRequest(old, new, hunk.line), number)
        if isinstance(bare, Refused):
            return _numbered(bare, number, len(hunks))
        if bare is not None:
            spans += bare
            continue
        found = _searched(indexed, hunk, number, searches)
        if isinstance(found, Refused):
            return _numbered(found, number, len(hunks))
        searches.append(found)
    for search in searches:
        chosen = _chosen(indexed, search, searches)
        made = chosen if isinstance(chosen, Refused) else put(indexed, search.hunk, chosen)
        if isinstance(made, Refused):
            return _numbered(made, search.number, len(hunks))
        spans += of_blocks(indexed, made, search.number)
    return joined(flat, spans)


def _leaves_out(indexed: IndexedText, hunk: Hunk) -> bool:
    """Tell whether the context has a mark for omitted lines and is not in the file as it is."""
    return any(
        line.sign == " " and stands_for_others(line.text, indexed.file.flat) for line in hunk.lines
    ) and not places(indexed, hunk.old)


def _numbered(refused: Refused, number: int, count: int) -> Refused:
    which = f"Hunk {number} of {count}: " if count > 1 else ""
    return replace(refused, reason=which + refused.reason)


def _searched(
    indexed: IndexedText, hunk: Hunk, number: int, above: Sequence[_Search]
) -> _Search | Refused:
    """Return the hunk with all its places; ``above`` are the hunks before it."""
    if _adds_a_mark(indexed, hunk):
        return unclear_marker()
    if hunk.old == hunk.new:
        return Refused("The hunk removes and adds the same lines: nothing to change.", "equal")
    found = places(indexed, hunk.old)
    narrowed = _anchored(indexed, hunk, found, above)
    if isinstance(narrowed, Refused):
        return narrowed
    if len(narrowed) >= most_places(hunk.old):
        # Refuse now: no place can be chosen, and searching the other hunks would take long.
        return ambiguous(indexed, [place.first for place in narrowed], None)
    return _Search(hunk, number, narrowed)


def _adds_a_mark(indexed: IndexedText, hunk: Hunk) -> bool:
    """Tell whether an added line is a mark for omitted lines, not the whole body of a block.

    A line that may also be code counts as a mark only where the hunk removes lines.
    """
    marks = set(added_markers(hunk.old, hunk.new, indexed.file.flat))
    at = 0
    for _, run in groupby(hunk.lines, lambda line: line.sign == " "):
        lines = list(run)
        is_removing = any(line.sign == "-" and stripped(line.text) for line in lines)
        shown = [line for line in lines if line.sign != "-"]
        for number in marks & {at + n for n, line in enumerate(shown) if line.sign == "+"}:
            is_doubtful = is_removing and not is_stub(hunk.new, number)
            if is_doubtful or is_sure_marker(hunk.new[number]):
                return True
        at += len(shown)
    return False


def _anchored(
    indexed: IndexedText, hunk: Hunk, found: list[Place], above: Sequence[_Search]
) -> list[Place] | Refused:
    """Return the places that the anchors allow, or a refusal if they allow none."""
    if not hunk.anchors:
        return found
    tops, lost = _anchor_lines(indexed, hunk.anchors)
    if hunk.line is None and lost and not _is_reworded(indexed, hunk, lost, found):
        return _no_anchor(indexed, hunk, lost)
    if not hunk.is_anchor_sure or not found:
        return _by_section(indexed, hunk, found, tops) if found else found
    ends = [place.past for place in found]
    after = (bisect_right(ends, top) for top in tops)
    first = {found[at].first: found[at] for at in after if at < len(found)}
    if len(first) > 1 and all(_is_line(indexed, top, hunk.anchors[-1]) for top in tops):
        # As in a search that goes on from the hunk before, the next such line is the anchor.
        low = max((one.places[0].first for one in above if len(one.places) == 1), default=-1)
        later = [place for place in first.values() if place.first > low]
        return later[:1] or list(first.values())
    if tops and not first:
        return Refused(
            f"The lines are in the file at line {found[0].first + 1}, but not after the anchor "
            f"{hunk.anchors[-1]!r}. Give the anchor that stands before them, or none.",
            "ambiguous",
        )
    return list(first.values()) or found


def _by_section(
    indexed: IndexedText, hunk: Hunk, found: list[Place], tops: list[int]
) -> list[Place] | Refused:
    """Choose by the section header of a diff; refuse if the line number contradicts it."""
    after = next((one for one in found if tops and one.past > tops[0]), None)
    if after is None or len(tops) > 1 or len(found) == 1:
        return found
    told = nearest_to([one.first + 1 for one in found], hunk.line, _REACH)
    if told is None:
        return [after]
    if _is_in_section(indexed, tops[0], found[told].first):
        return [found[told]]
    return ambiguous(indexed, [one.first for one in found], hunk.line)


def _is_in_section(indexed: IndexedText, top: int, line: int) -> bool:
    """Tell whether a line follows a header with no other header as far left in between."""
    lines = indexed.file.lines
    edge = len(indent_of(lines[top]))
    return top <= line and not any(
        len(indent_of(one)) <= edge and stripped(one)[:1].isalpha() for one in lines[top + 1 : line]
    )


def _anchor_lines(indexed: IndexedText, anchors: Sequence[str]) -> tuple[list[int], str]:
    """Return the lines that may be the last anchor, or none and the anchor that is nowhere."""
    low, hits = -1, [-1]
    for anchor in anchors:
        want = stripped(anchor)
        exact = indexed.keyed(stripped).lines_of(want) or indexed.keyed(folded).lines_of(
            folded(want)
        )
        hits = [number for number in exact or _begun_with(indexed, want) if number > low]
        if not hits:
            return [], anchor
        low = hits[0]
    return hits, ""


def _is_line(indexed: IndexedText, number: int, anchor: str) -> bool:
    """Tell whether the anchor is the whole line."""
    return folded(indexed.file.lines[number]) == folded(anchor)


def _is_reworded(indexed: IndexedText, hunk: Hunk, anchor: str, found: Sequence[Place]) -> bool:
    """Tell whether a line above the only place is the anchor as someone changed it since.

    The anchor says nothing then, so the hunk needs enough lines of its own.
    """
    if len(found) != 1 or sum(map(bool, map(stripped, hunk.old))) < _MIN_OLD:
        return False
    lines = indexed.file.lines[max(0, found[0].past - _MAX_ABOVE) : found[0].past]
    return any(fate_of(anchor, line, is_beyond=True) != "another" for line in lines)


def _no_anchor(indexed: IndexedText, hunk: Hunk, anchor: str) -> Refused:
    """Return the refusal of a hunk whose anchor the file does not have."""
    at = hunk.anchors.index(anchor)
    below = f" below {hunk.anchors[at - 1]!r}" if at else ""
    near = nearest(indexed.file.flat, anchor)
    like = f" The nearest line is {near[0].line}: {cut(near[0].lines[0].strip())}" if near else ""
    return Refused(
        f"The anchor {anchor!r} is no line of the file{below}.{like}\nCopy a line that stands "
        "above the place, or leave the anchor away and quote more unchanged lines.",
        "not-found",
    )


def _begun_with(indexed: IndexedText, want: str) -> list[int]:
    """Return the numbers of the lines that begin with an anchor, whole words preferred."""
    lines = indexed.file.lines
    hits = [at for at in indexed.keyed(stripped).numbers if stripped(lines[at]).startswith(want)]
    is_word = want[-1:].isalnum() or want.endswith("_")
    whole = [at for at in hits if not (is_word and _IN_WORD.match(stripped(lines[at]), len(want)))]
    return (whole or hits) if want else []


def _chosen(indexed: IndexedText, search: _Search, searches: Sequence[_Search]) -> Place | Refused:
    """Return the one place of a hunk, using the places of the other hunks."""
    known = search.places
    if not known:
        return missing(indexed, search.hunk, _between(indexed, search, searches))
    if len(known) > 1:
        known = _in_order(indexed, search, searches)
        told = nearest_to([one.first + 1 for one in search.places], search.hunk.line, _REACH)
        if told is not None and search.places[told] not in known:
            # The order of the hunks and the line number contradict each other.
            firsts = [one.first for one in search.places]
            return ambiguous(indexed, firsts, search.hunk.line)
    if len(known) < 2 or search.hunk.at_end:
        return find(indexed, search.hunk, known or search.places)
    lines = [one.first + 1 for one in known]
    number = nearest_to(lines, search.hunk.line, _REACH)
    if number is None:
        return ambiguous(indexed, [one.first for one in known], search.hunk.line)
    return known[number]


def _in_order(indexed: IndexedText, search: _Search, searches: Sequence[_Search]) -> list[Place]:
    """Return the places between the neighbouring hunks that have a single place."""
    within = _between(indexed, search, searches)
    return [one for one in search.places if one.first in within and one.past - 1 in within]


def _between(indexed: IndexedText, search: _Search, searches: Sequence[_Search]) -> range:
    """Return the lines between the neighbouring hunks that have a single place.

    The whole file if these hunks are not in order.
    """
    sure = [one for one in searches if len(one.places) == 1]
    firsts = [one.places[0].first for one in sure]
    low, high = 0, len(indexed.file.lines)
    if firsts == sorted(firsts):
        low = max((one.places[0].past for one in sure if one.number < search.number), default=low)
        high = min(
            (one.places[0].first for one in sure if one.number > search.number), default=high
        )
    return range(low, high)


def _without_old(indexed: IndexedText, hunk: Hunk, number: int) -> list[Span] | Refused:
    """Place a hunk without old lines: in an empty file, at the end, or below its anchor."""
    new = [line.text for line in hunk.lines if line.sign == "+"]
    count = len(indexed.file.lines)
    if not indexed.file.flat.strip("\ufeff \t\n"):
        return of_blocks(indexed, [Block(0, count, new)], number)
    if hunk.at_end and not hunk.anchors:
        return of_blocks(indexed, [Block(count, count, new)], number)
    tops, lost = _anchor_lines(indexed, hunk.anchors) if hunk.is_anchor_sure else ([], "")
    if lost:
        return _no_anchor(indexed, hunk, lost)
    if hunk.anchors and len(tops) == 1 and not hunk.at_end and new:
        return of_blocks(indexed, [Block(tops[0] + 1, tops[0] + 1, new)], number)
    return Refused(
        "The hunk has no line of the file in it, so it is not certain where it goes. Add some "
        "unchanged lines around it.",
        "blank",
    )
