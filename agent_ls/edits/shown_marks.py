"""Marks for text that is cut from what the model sees; they must not get into a file. Pure.

If a model copies such a mark into a new text, the text that was cut would be lost.
"""

from __future__ import annotations

import re

_MARK = re.compile(
    r"(?:…|\.{3}) ?\(\+?[\d,]+ (?:changed )?(?:characters?|bytes)(?: more| left out)?\)"
    r"|\[(?:…|\.{3}) ?[\d,]+ characters\b[^\]\n]*\]"
)
_WORDS = ("character", "bytes")
"""Every mark has one of these; a cheap test first, because most texts have none."""


def cut_line(line: str, limit: int) -> str:
    """Cut a line to ``limit`` characters and append a mark for the rest."""
    left = len(line) - limit
    if left <= 0:
        return line
    return f"{line[:limit]}… (+{left} {'character' if left == 1 else 'characters'})"


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
