"""Holds the calls in a streamed text back, so that users read words."""

from __future__ import annotations

import re
from typing import Final

# Wider than the table's marks: text that is held in vain comes with the end of the stream.
_BEGINS: Final = re.compile(
    r"<[|｜]|</?(?:[a-z]+:|\w+_)?(?:tool_?call|TOOLCALL|function|invoke)|\[TOOL_CALLS\]"
)
_MAY_BEGIN: Final = re.compile(r"(?:<[^\s<>]{0,24}|\[[A-Z_]{0,12})\Z")
_FENCE: Final = re.compile(r"\s{0,3}(?:```|~~~)")


class ShownText:
    """Takes the pieces of one answer, in stream order."""

    __slots__ = ("_held", "_is_call", "_is_code", "_line")

    def __init__(self) -> None:
        self._held = ""
        self._is_call = False
        """A call may have begun: all that follows is held."""
        self._is_code = False
        """The shown text ends inside a code block."""
        self._line = ""
        """The last line of the shown text."""

    def take(self, piece: str) -> str:
        """Return what may be shown now."""
        text, self._held = self._held + piece, ""
        shown: list[str] = []
        while text and not self._is_call:
            begun = _BEGINS.search(text)
            held = None if begun else _MAY_BEGIN.search(text)
            end = begun.start() if begun else held.start() if held else len(text)
            self._note(text[:end])
            shown.append(text[:end])
            text = text[end:]
            if held is not None:
                break
            if begun is not None:
                self._is_call = not self._is_code and self._line.count("`") % 2 == 0
                past = begun.end() - begun.start()
                if not self._is_call:
                    self._note(text[:past])
                    shown.append(text[:past])
                    text = text[past:]
        self._held = text
        return "".join(shown)

    def rest(self) -> str:
        """Return what was held, for a text that turned out to hold no call."""
        held, self._held = self._held, ""
        return held

    def _note(self, text: str) -> None:
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            self._is_code ^= bool(_FENCE.match(line))
