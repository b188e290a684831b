"""Finds where a JSON text that arrives in pieces ends, without parsing it."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')


class JsonEnd:
    """Follows one JSON object or array over the pieces of its text.

    Counts brackets outside of strings; says nothing about whether the text is valid.
    """

    __slots__ = ("_depth", "_is_escaped", "_is_inside", "is_closed", "is_opened")

    def __init__(self) -> None:
        self._depth = 0
        self._is_inside = False
        self._is_escaped = False
        self.is_opened = False
        """The text began with a bracket; stays False for text that is neither object nor array."""
        self.is_closed = False

    def feed(self, piece: str) -> int:
        """Read on; return how many characters of the piece belong to the value.

        Invariant: after ``is_closed`` nothing belongs to it any more.
        """
        at = 0
        while not self.is_closed and at < len(piece):
            at = self._in_string(piece, at) if self._is_inside else self._outside(piece, at)
        return at

    def _in_string(self, piece: str, at: int) -> int:
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = _INSIDE.search(piece, at)
        if found is None:
            return len(piece)
        if found[0] == "\\":
            self._is_escaped = True
        else:
            self._is_inside = False
        return found.end()

    def _outside(self, piece: str, at: int) -> int:
        found = _OUTSIDE.search(piece, at)
        if not self.is_opened and piece[at : found.start() if found else None].strip():
            # Not an object, not an array: it never closes, whatever brackets follow.
            return len(piece)
        if found is None:
            return len(piece)
        if not self.is_opened and found[0] not in "{[":
            return len(piece)
        match found[0]:
            case '"':
                self._is_inside = True
            case "{" | "[":
                self.is_opened = True
                self._depth += 1
            case _:
                self._depth -= 1
                self.is_closed = self._depth == 0
        return found.end()
