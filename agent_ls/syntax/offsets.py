"""Convert a parser's byte offsets to code points, one offset at a time."""

from __future__ import annotations


class Offsets:
    """Converts byte offsets of one UTF-8 text to code points; cheap for nearby offsets."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._is_ascii = data.isascii()
        self._at_byte = self._at_point = 0

    def point(self, offset: int) -> int:
        """Return the code-point offset of a byte offset."""
        if self._is_ascii:
            return offset
        low, high = sorted((self._at_byte, offset))
        count = len(self._data[low:high].decode("utf-8", "surrogatepass"))
        self._at_point += count if offset >= self._at_byte else -count
        self._at_byte = offset
        return self._at_point
