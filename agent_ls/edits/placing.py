"""Place one hunk: choose among its possible places, carry it out, or refuse.

Hints only break ties; they never overrule a unique match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_ls.edits.alignments import weight
from agent_ls.edits.already_applied import (
    adds,
    done_at,
    is_telling,
    keeps_something,
    partly_at,
    standing_at,
)
from agent_ls.edits.indents import indent_of
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import IndexedText, Place, most_places, places
from agent_ls.edits.refusing import ambiguous, applied, not_found, partly_applied
from agent_ls.edits.requests import Hunk, Refused
from agent_ls.edits.splice import Block, woven
from agent_ls.edits.stale import stale_place

_HINT_REACH = 20
_MIN_AROUND = 2
"""Least evidence, in lines with enough text, that a diff must show around an addition."""


def find(indexed: IndexedText, hunk: Hunk, known: Sequence[Place]) -> Place | Refused:
    """Choose the intended place; ``known`` has at least one."""
    if hunk.at_end and len(known) > 1:
        last = len(indexed.file.lines)
        known = [one for one in known if _is_last(indexed, one, last)] or known
    if len(known) == 1:
        return known[0]
    is_all = len(known) < most_places(hunk.old)
    number = nearest_to([one.first + 1 for one in known], hunk.line) if is_all else None
    if number is None:
        return ambiguous(indexed, [one.first for one in known], hunk.line)
    return known[number]


def missing(indexed: IndexedText, hunk: Hunk, within: range | None = None) -> Place | Refused:
    """Return the place of a hunk whose old lines differ from the file, if it is certain.

    Shape: ``within`` are the file lines that other hunks leave free; None means all.
    """
    is_standing = is_telling(hunk) and any(
        adds(hunk) or one.is_same_layout for one in places(indexed, hunk.new)
    )
    spot = "" if is_standing else stale_place(indexed, hunk, within)
    return nowhere(indexed, hunk, spot) if isinstance(spot, str) else spot


def nowhere(indexed: IndexedText, hunk: Hunk, why: str = "") -> Refused:
    """Return the refusal of a hunk without a place; says so if it seems to be applied already.

    Shape: ``why`` says in sentences what is not certain about the nearest text.
    """
    at = standing_at(indexed, hunk)
    if at is not None and keeps_something(hunk):
        return applied(at)
    refused = not_found(indexed, "\n".join(hunk.old), standing=at, why=why)
    return refused if at is None else replace(refused, why="applied")


def put(indexed: IndexedText, hunk: Hunk, place: Place) -> list[Block] | Refused:
    """Return the blocks that carry out the hunk at its place, or why it is refused."""
    done = done_at(indexed, hunk, place)
    if done is not None:
        return applied(done)
    partly = partly_at(indexed, hunk, place)
    if partly is not None:
        return partly_applied(partly)
    if _is_slight(indexed, hunk, place):
        return not_found(indexed, "\n".join(hunk.old))
    return woven(indexed, hunk, place)


def nearest_to(lines: Sequence[int], hint: int | None, reach: int = _HINT_REACH) -> int | None:
    """Return the index of the line that is clearly nearest to the hint; None if there is none."""
    if hint is None:
        return None
    ranked = sorted((abs(line - hint), number) for number, line in enumerate(lines))
    best, second = ranked[0][0], ranked[1][0]
    if best > reach or second < 2 * best + 1:
        return None
    return ranked[0][1]


def _is_slight(indexed: IndexedText, hunk: Hunk, place: Place) -> bool:
    """Tell whether a diff only adds lines, all its context differs in indentation, and it has too
    little context."""
    if not hunk.is_diff or any(line.sign == "-" for line in hunk.lines):
        return False
    pairs = [
        (line, indexed.file.lines[number])
        for line, number in zip(hunk.old, place.at, strict=True)
        if number is not None and stripped(line)
    ]
    if all(indent_of(one) == " " + indent_of(other) for one, other in pairs) and all(
        line.text.startswith(" ") for line in hunk.lines if stripped(line.text)
    ):
        # Some models write a blank behind each sign.
        return False
    is_shifted = all(indent_of(one) != indent_of(other) for one, other in pairs)
    return is_shifted and sum(weight(one) for one, _ in pairs) < _MIN_AROUND


def _is_last(indexed: IndexedText, place: Place, last: int) -> bool:
    return all(not stripped(line) for line in indexed.file.lines[place.past : last])
