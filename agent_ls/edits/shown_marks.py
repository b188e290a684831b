"""The marks for text left out of what the model is shown; none may get into a file. Pure.

A model that quotes such a mark in a new text takes it for the text, which would be lost.
"""

from __future__ import annotations

import re

_MARK = re.compile(
    r"(?:…|\.{3}) ?\(\+?[\d,]+ (?:characters?|bytes)(?: more| left out)?\)"
    r"|\[(?:…|\.{3}) ?[\d,]+ characters\b[^\]\n]*\]"
)
_WORDS = ("character", "bytes")
"""One is in every mark; looked for first, as most texts have none."""


def cut_line(line: str, limit: int) -> str:
    """Return a line of at most ``limit`` characters, with a mark for what is left out."""
    left = len(line) - limit
    if left <= 0:
        return line
    return f"{line[:limit]}… (+{left} {'character' if left == 1 else 'characters'})"


def leaked_mark(new: str, before: str | None) -> str | None:
    """Return why a new text is refused: it has a mark that the text before has not."""
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
