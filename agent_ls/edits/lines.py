"""Lines as LSP counts them: LF, CRLF and CR end one, a form feed or U+2028 does not."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate

_END = re.compile(r"\r\n|\n|\r")
BOM = "\ufeff"


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; a final line end adds no empty line."""
    # Looking for three line ends at once takes much longer, as in a long line.
    lines = _END.split(text) if "\r" in text else text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def flattened(text: str, *, alone: bool = True) -> str:
    """Return the text with LF line ends; a single CR is converted only if ``alone``."""
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text.replace("\r", "\n") if alone else text


class LineIndex:
    """Looks up the line of an offset in one text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in _END.finditer(text))]

    def line_of(self, offset: int) -> int:
        """Return the 1-based number of the line that holds the offset."""
        return bisect_right(self._starts, offset)


class FlatText:
    """A text converted to LF line ends, which maps offsets back to the source."""

    def __init__(self, text: str) -> None:
        self.source = text
        self.text = flattened(text)
        crlf = len(text) - len(self.text)
        self._all_crlf = 0 < crlf == self.text.count("\n")
        # In a pure CRLF file, counting line ends is enough. Counting resumes at the last offset,
        # because an edit of many places asks for increasing offsets.
        self._counted = (0, 0)
        self._pairs = _pairs(text) if crlf and not self._all_crlf else []

    def offset(self, flat: int) -> int:
        """Return the offset in the source; never inside a CRLF."""
        if self._all_crlf:
            at, ends = self._counted
            first, past = sorted((at, flat))
            between = self.text.count("\n", first, past)
            ends += between if at < flat else -between
            self._counted = (flat, ends)
            return flat + ends
        return flat + bisect_left(self._pairs, flat)

    def line_end_at(self, flat: int) -> str:
        """Return the line end for new lines at this offset, copied from a neighbouring line.

        Shape: at the start of a line the line before is copied, else the line itself.
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
        # A stray CR among LFs is data, not a line end to copy.
        return "\r" if self.source[place] == "\r" and "\n" not in self.source else "\n"


class FileLines:
    """The lines of one LF text, numbered from 0."""

    def __init__(self, flat: str) -> None:
        self.flat = flat
        self.has_final_end = flat.endswith("\n")
        self.first = len(BOM) if flat.startswith(BOM) else 0
        body = flat[self.first :]
        self.lines = body.split("\n") if body else []
        if self.has_final_end:
            self.lines.pop()

    @cached_property
    def starts(self) -> list[int]:
        """Return the offset of each line, plus that of a line after the last."""
        # A loop would take four times as long, and every edit waits for it.
        sizes = map((1).__add__, map(len, self.lines))
        return list(accumulate(sizes, initial=self.first))

    def number_at(self, offset: int) -> int:
        """Return the 0-based number of the line that holds the offset."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def span(self, first: int, past: int, new: list[str]) -> tuple[int, int, str]:
        """Return start, end and text that replace the lines ``first:past`` by ``new``.

        Invariant: a final line end stays, or stays missing.
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
    """Return the offsets, in the LF text, of the line ends that are CRLF in the source."""
    return [match.start() - number for number, match in enumerate(re.finditer("\r\n", text))]
