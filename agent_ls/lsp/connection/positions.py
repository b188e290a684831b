"""Lines and columns as LSP counts them, over plain strings.

Handles the three column units, and the line ends LF, CRLF and CR; some clients do not count CR.
Form feed, NEL and the Unicode separators are ordinary characters. Elsewhere in agent-ls an offset
counts code points; only this folder knows columns.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, Literal, overload

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit of columns: bytes, UTF-16 units or code points."""

LineEnds = Literal["any", "lf"]
"""What ends a line: LF, CRLF and CR, as LSP has it, or only LF and CRLF."""

ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-8", "utf-16", "utf-32")


def split_lines(text: str, ends: LineEnds = "any") -> list[str]:
    """The lines of `text` with their line ends.

    Shape: at least one; only the last has no line end, and it may be empty.
    """
    if "\n" not in text and (ends == "lf" or "\r" not in text):
        return [text]
    lines = list(io.StringIO(text, newline="" if ends == "any" else "\n"))
    if content_length(lines[-1], ends) < len(lines[-1]):
        lines.append("")
    return lines


def content_length(line: str, ends: LineEnds = "any") -> int:
    """The length of the line without its line end, in code points."""
    if line.endswith("\r\n"):
        return len(line) - 2
    return len(line) - line.endswith(("\n", "\r") if ends == "any" else "\n")


class WithoutEnds(Sequence[str]):
    """Lines without their line ends, each cut when it is asked for."""

    def __init__(self, lines: Sequence[str], ends: LineEnds = "any") -> None:
        """Take lines as ``split_lines`` returns them; the list is not copied."""
        self._lines = lines
        self._ends: LineEnds = ends

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        found = self._lines[index]
        if isinstance(found, str):
            return found[: content_length(found, self._ends)]
        return WithoutEnds(found, self._ends)


def column_to_index(line: str, column: int, encoding: Encoding, ends: LineEnds = "any") -> int:
    """The index of the code point at `column`.

    Clamped to the line's content; a column inside a character gives that character's start.
    """
    limit = max(0, min(column, content_length(line, ends)))
    if limit == 0 or encoding == "utf-32" or line.isascii():
        return limit
    # Each code point has at least one unit, so the place is within the first `column` code points.
    head = line[:limit]
    if encoding == "utf-8":
        return _prefix_length(head.encode("utf-8", "surrogatepass"), column)
    units = head.encode("utf-16-le", "surrogatepass")
    cut = 2 * column
    if len(units) == 2 * limit or cut >= len(units):
        return limit
    # A high byte of DC to DF is the second half of a pair: cut before the whole pair.
    cut -= 2 * (0xDC <= units[cut + 1] <= 0xDF and 0xD8 <= units[cut - 1] <= 0xDB)
    return len(units[:cut].decode("utf-16-le", "surrogatepass"))


def _prefix_length(encoded: bytes, column: int) -> int:
    cut = min(column, len(encoded))
    while cut < len(encoded) and encoded[cut] & 0xC0 == 0x80:
        cut -= 1
    return len(encoded[:cut].decode("utf-8", "surrogatepass"))


def index_to_column(line: str, index: int, encoding: Encoding) -> int:
    """The column of the code point at `index`; the inverse of `column_to_index`."""
    head = line[:index]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    if encoding == "utf-8":
        return len(head.encode("utf-8", "surrogatepass"))
    return len(head.encode("utf-16-le", "surrogatepass")) // 2


class TextPositions:
    """Converts between offsets in a text and a client's lines and columns."""

    def __init__(
        self,
        text: str,
        encoding: Encoding,
        lines: Sequence[str] | None = None,
        ends: LineEnds = "any",
    ) -> None:
        self.text = text
        self.encoding: Encoding = encoding
        self._ends: LineEnds = ends
        lengths = map(len, split_lines(text, ends) if lines is None else lines)
        self._starts = list(accumulate(lengths, initial=0))[:-1]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a code-point offset, clamped to the text.

        LSP has no place between the CR and LF of a line end; it gives the place before the CR.
        """
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        content = self._line(line)
        index = min(offset - self._starts[line], content_length(content, self._ends))
        return line, index_to_column(content, index, self.encoding)

    def offset(self, line: int, column: int) -> int:
        """Code-point offset of a line and column, clamped to the text."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        index = column_to_index(self._line(line), column, self.encoding, self._ends)
        return self._starts[line] + index

    def _line(self, line: int) -> str:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else None
        return self.text[self._starts[line] : end]
