"""Lines as LSP counts them: LF, CRLF and CR end one, a form feed or U+2028 does not."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property

_END = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; no last empty line after a final line end."""
    lines = _END.split(text)
    if not lines[-1]:
        lines.pop()
    return lines


def flattened(text: str, *, alone: bool = True) -> str:
    """Return the text with every line end written as LF; a CR alone only when asked for."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if alone else text


class LineIndex:
    """Where the lines of one text begin."""

    def __init__(self, text: str) -> None:
        """Read the text once."""
        self._starts = [0, *(match.end() for match in _END.finditer(text))]

    def line_of(self, offset: int) -> int:
        """Return the 1-based line that holds the offset."""
        return bisect_right(self._starts, offset)


class FlatText:
    """A text with every line end written as LF, and the way back to its own offsets."""

    def __init__(self, text: str) -> None:
        """Read the text once."""
        self.source = text
        self.text = flattened(text)
        crlf = len(text) - len(self.text)
        self._all_crlf = 0 < crlf == self.text.count("\n")
        # Most files have one kind of line end, and counting is then enough: from where it was
        # asked last, as an edit of many places asks for one after the other.
        self._counted = (0, 0)
        self._pairs = _pairs(text) if crlf and not self._all_crlf else []

    def offset(self, flat: int) -> int:
        """Return the offset in the source; never between the two halves of a CRLF."""
        if self._all_crlf:
            at, ends = self._counted
            first, past = sorted((at, flat))
            between = self.text.count("\n", first, past)
            ends += between if at < flat else -between
            self._counted = (flat, ends)
            return flat + ends
        return flat + bisect_left(self._pairs, flat)

    def line_end_at(self, flat: int) -> str:
        """Return the line end that new lines at this place take: that of their neighbours.

        Shape: at the beginning of a line that of the line before, else that of the line itself.
        """
        if "\r" not in self.source:
            return "\n"
        is_start = flat > 0 and self.text[flat - 1] == "\n"
        at = flat - 1 if is_start else self.text.find("\n", flat)
        if at < 0:
            at = self.text.rfind("\n", 0, flat)
        if at < 0:
            return "\n"
        place = self.offset(at)
        if self.source.startswith("\r\n", place):
            return "\r\n"
        # A stray CR among LFs is data to whoever wrote it, and no kind of line end to copy.
        return "\r" if self.source[place] == "\r" and "\n" not in self.source else "\n"


class FileLines:
    """The lines of one flat text by number, from 0."""

    def __init__(self, flat: str) -> None:
        """Read the text once."""
        self.flat = flat
        self.has_final_end = flat.endswith("\n")
        self.first = len(BOM) if flat.startswith(BOM) else 0
        body = flat[self.first :]
        self.lines = body.split("\n") if body else []
        if self.has_final_end:
            self.lines.pop()

    @cached_property
    def starts(self) -> list[int]:
        """Return where each line begins, and where one after the last would."""
        at, found = self.first, [self.first]
        for line in self.lines:
            at += len(line) + 1
            found.append(at)
        return found

    def number_at(self, offset: int) -> int:
        """Return the number of the line that holds the offset."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def span(self, first: int, past: int, new: list[str]) -> tuple[int, int, str]:
        """Return start, end and text that put ``new`` in place of the lines ``first:past``.

        Invariant: whether the text ends with a line end stays as it is.
        """
        starts, count, text = self.starts, len(self.lines), "\n".join(new)
        if first < past and new:
            return starts[first], starts[past] - 1, text
        if first < past:
            if past < count or self.has_final_end:
                return starts[first], starts[past], ""
            return max(self.first, starts[first] - 1), len(self.flat), ""
        if not new:
            return starts[first], starts[first], ""
        if first < count:
            return starts[first], starts[first], text + "\n"
        if self.has_final_end or not count:
            return len(self.flat), len(self.flat), text + "\n"
        return len(self.flat), len(self.flat), "\n" + text


def _pairs(text: str) -> list[int]:
    """Return the flat offsets of the line ends that are CRLF."""
    return [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
