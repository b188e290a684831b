"""From a parser's bytes to code points, for the few places of a text that are asked for."""

from __future__ import annotations


class Offsets:
    """The code points of byte offsets in one UTF-8 text; cheap when asked in order."""

    def __init__(self, data: bytes) -> None:
        """Take the text."""
        self._data = data
        self._is_ascii = data.isascii()
        self._at_byte = self._at_point = 0

    def point(self, offset: int) -> int:
        """Return the code point that begins at the byte offset."""
        if self._is_ascii:
            return offset
        low, high = sorted((self._at_byte, offset))
        count = len(self._data[low:high].decode("utf-8", "surrogatepass"))
        self._at_point += count if offset >= self._at_byte else -count
        self._at_byte = offset
        return self._at_point
