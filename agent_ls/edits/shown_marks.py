"""Marks for text that is cut from what the model sees; they must not get into a file. Pure.

If a model copies such a mark into a new text, the text that was cut would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MAX_PIECES = 3
_MIN_PIECE = 100
"""Characters around each match at least, if several of a line are shown."""
_MARK = re.compile(
    r"(?:…|\.{3}) ?\(\+?[\d,]+ (?:changed )?(?:characters?|bytes)"
    r"(?: more| with [^()\n]*)?(?: left out)?\)"
    r"|\[(?:…|\.{3}) ?[\d,]+ characters\b[^\]\n]*\]|(?:…|\.{3}) [\d,]+ more characters"
)
_WORDS = ("character", "bytes")
"""Every mark has one of these; a cheap test first, because most texts have none."""


def cut_line(line: str, limit: int, length: int = 0) -> str:
    """Cut a line to ``limit`` characters and append a mark for the rest.

    Shape: ``length`` is that of the whole line, if only its beginning is given.
    """
    left = max(len(line), length) - limit
    if left <= 0:
        return line
    return f"{line[:limit]}… (+{_counted(left)})"


def cut_around(
    line: str, spans: Sequence[tuple[int, int]], limit: int, skipped: int = 0, left: int = 0
) -> str:
    """Cut a line to about ``limit`` characters around the first of these spans, with marks.

    Shape: ``skipped`` and ``left`` are the bytes of the line before and after the given text.
    """
    if len(line) <= limit and not (skipped or left):
        return line
    pieces = _pieces(line, spans, limit)
    unit = "byte" if skipped or left else "character"
    parts: list[str] = []
    at = -skipped
    for first, last in pieces:
        if first > at:
            parts.append(f"… ({_counted(first - at, unit)} left out) ")
        parts.append(line[first:last])
        at = last
    if rest := len(line) + left - at:
        parts.append(f"… (+{_counted(rest, unit)})")
    hidden = sum(all(not first <= start < last for first, last in pieces) for start, _ in spans)
    return "".join(parts) + (f" ({hidden} more matches in this line)" if hidden else "")


def _pieces(line: str, spans: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Return the parts of a line to show, one around each of the first spans."""
    count = max(1, min(len(spans), _MAX_PIECES, limit // _MIN_PIECE))
    room = max(limit // count, 1)
    pieces: list[tuple[int, int]] = []
    for start, end in spans[:count] or [(0, 0)]:
        first = max(0, min(start, start - (room - (end - start)) // 2, len(line) - room))
        if pieces and first <= pieces[-1][1]:
            first = pieces.pop()[0]
        pieces.append((first, min(max(start + room // 2, first + room), len(line))))
    return pieces


def _counted(count: int, unit: str = "character") -> str:
    return f"{count} {unit}" if count == 1 and unit == "character" else f"{count} {unit}s"


def leaked_mark(new: str, before: str | None) -> str | None:
    """Return a refusal if the new text has such a mark and the text before does not; else None."""
    if not any(word in new for word in _WORDS):
        return None
    known = before or ""
    mark = next((one for one in _MARK.findall(new) if one not in known), None)
    if mark is None:
        return None
    return (
        f"The new text has {mark!r}: that is the mark of a tool for text that it did not show, and "
        "no text of the file. Nothing was changed. Read what is left out (read_file with "
        "start_line and start_column shows a long line), or change only a part of the line with "
        "edit_file."
    )
