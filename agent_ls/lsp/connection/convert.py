"""Converts replacements in code points to edits for the client, and code points to ranges.

Handles what LSP cannot express: there is no position between the CR and LF of a line end.
"""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from agent_ls.domain.edits import Replacement
from agent_ls.lsp.connection.positions import TextPositions


def sayable(text: str, replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """The same change of `text`, without a boundary inside a CRLF.

    Such a boundary moves outwards, and the CR or LF it passes joins the new text. Replacements that
    meet inside a CRLF are merged.
    Shape: sorted and disjoint, like the input.
    """
    said: list[Replacement] = []
    for one in replacements:
        last = said[-1] if said else None
        if last is not None and last.end == one.start and _splits_crlf(text, one.start):
            said[-1] = Replacement(start=last.start, end=one.end, text=last.text + one.text)
        else:
            said.append(one)
    return tuple(_widened(text, one) for one in said)


def text_edits(
    positions: TextPositions, replacements: Iterable[Replacement]
) -> list[types.TextEdit]:
    """The client's edits for replacements of `positions.text`."""
    said = _before_last_end(positions.text, sayable(positions.text, replacements))
    return [types.TextEdit(range_of(positions, one.start, one.end), one.text) for one in said]


def range_of(positions: TextPositions, start: int, end: int) -> types.Range:
    """The client's range of the code points `start:end`."""
    places = positions.position(start), positions.position(end)
    return types.Range(*(types.Position(*place) for place in places))


def _before_last_end(text: str, changes: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
    """The same change without a position after the last line end, which some editors lack."""
    if not changes or not changes[-1].start == changes[-1].end == len(text):
        return changes
    *others, last = changes
    end = "\r\n" if text.endswith("\r\n") else "\n"
    at = len(text) - len(end)
    is_whole = text.endswith(end) and last.text.endswith(end)
    if not is_whole or (others and others[-1].end > at):
        return changes
    moved = Replacement(start=at, end=at, text=end + last.text.removesuffix(end))
    return (*others, moved)


def _splits_crlf(text: str, offset: int) -> bool:
    return offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def _widened(text: str, one: Replacement) -> Replacement:
    before = _splits_crlf(text, one.start)
    after = _splits_crlf(text, one.end)
    if not before and not after:
        return one
    return Replacement(
        start=one.start - before,
        end=one.end + after,
        text="\r" * before + one.text + "\n" * after,
    )
