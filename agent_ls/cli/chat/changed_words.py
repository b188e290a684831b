"""Finds the words that differ between a removed line and the one that came in its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from agent_ls.cli.chat.diff_rows import DiffRow

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_PIECES = 150
_LEAST_ALIKE = 0.5
"""Lines that share less are other lines, of which nothing is marked."""

Span = tuple[int, int]


def changed_words(rows: Sequence[DiffRow]) -> dict[int, list[Span]]:
    """Return by the number of a row, from 0, which characters of its text differ."""
    found: dict[int, list[Span]] = {}
    for old, new in _pairs(rows):
        spans = _spans(rows[old].text, rows[new].text)
        found[old], found[new] = spans
    return found


def _pairs(rows: Sequence[DiffRow]) -> list[Span]:
    """Return the rows of lines that stand for each other: as many were removed as were added."""
    pairs: list[Span] = []
    at = 0
    while at < len(rows):
        added = _end(rows, at, "removed")
        end = _end(rows, added, "added")
        if added - at == end - added:
            pairs += zip(range(at, added), range(added, end), strict=True)
        at = max(end, at + 1)
    return pairs


def _end(rows: Sequence[DiffRow], at: int, kind: str) -> int:
    while at < len(rows) and rows[at].kind == kind:
        at += 1
    return at


def _spans(old: str, new: str) -> tuple[list[Span], list[Span]]:
    before, after = _PIECE.findall(old), _PIECE.findall(new)
    if max(len(before), len(after)) > _MOST_PIECES:
        return [], []
    match = SequenceMatcher(None, before, after, autojunk=False)
    if match.ratio() < _LEAST_ALIKE:
        return [], []
    removed: list[Span] = []
    added: list[Span] = []
    for kind, first, last, new_first, new_last in match.get_opcodes():
        if kind != "equal":
            removed += _span(before, first, last)
            added += _span(after, new_first, new_last)
    return removed, added


def _span(pieces: Sequence[str], first: int, last: int) -> list[Span]:
    start = sum(map(len, pieces[:first]))
    end = start + sum(map(len, pieces[first:last]))
    return [(start, end)] if end > start else []
