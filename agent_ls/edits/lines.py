"""Lines as LSP counts them: LF, CRLF and CR end one, a form feed or U+2028 does not."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

_END = re.compile(r"\r\n|\n|\r")


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; no last empty line after a final line end."""
    lines = _END.split(text)
    if not lines[-1]:
        lines.pop()
    return lines


class LineIndex:
    """Where the lines of one text begin."""

    def __init__(self, text: str) -> None:
        """Read the text once."""
        self._starts = [0, *(match.end() for match in _END.finditer(text))]

    def line_of(self, offset: int) -> int:
        """Return the 1-based line that holds the offset."""
        return bisect_right(self._starts, offset)


class FlatText:
    """A text with every CRLF written as LF, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        """Read the text once."""
        self.source = text
        self.text = text.replace("\r\n", "\n")
        crlf = len(text) - len(self.text)
        self._all_crlf = 0 < crlf == self.text.count("\n")
        # Most files have one kind of line end, and counting is then enough.
        self._pairs = _pairs(text) if crlf and not self._all_crlf else []

    def offset(self, flat: int) -> int:
        """Return the offset in the source; never between the two halves of a CRLF."""
        if self._all_crlf:
            return flat + self.text.count("\n", 0, flat)
        return flat + bisect_left(self._pairs, flat)

    def line_end_at(self, flat: int) -> str:
        """Return the line end that new lines at this place take: that of their neighbours."""
        if self._all_crlf or not self._pairs:
            return "\r\n" if self._all_crlf else "\n"
        at = self.text.find("\n", flat)
        if at < 0:
            at = self.text.rfind("\n", 0, flat)
        place = bisect_left(self._pairs, at)
        is_pair = place < len(self._pairs) and self._pairs[place] == at
        return "\r\n" if is_pair else "\n"


def _pairs(text: str) -> list[int]:
    """Return the flat offsets of the line ends that are CRLF."""
    return [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
