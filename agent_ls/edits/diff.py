"""Unified diffs for people: previews, transcripts, the demo. Never applied."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from agent_ls.domain.edits import changed_lines
from agent_ls.edits.lines import split_lines

_MAX_LINES = 20_000
_NO_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class DiffStatistics:
    """How many lines a change adds and removes."""

    added: int
    removed: int

    def __str__(self) -> str:
        """Return for example ``+3 -1``."""
        return f"+{self.added} -{self.removed}"


def statistics(before: str | None, after: str | None) -> DiffStatistics:
    """Return the size of a change; a None side is a file that does not exist."""
    return DiffStatistics(*changed_lines(before or "", after or ""))


def unified(before: str | None, after: str | None, path: str, new_path: str | None = None) -> str:
    """Return a unified diff; a None side is a file that does not exist.

    Shape: line ends are not shown, but a missing one at the end of the file is.
    """
    old, new = _lines(before or ""), _lines(after or "")
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{new_path or path}"
    if len(old) + len(new) > _MAX_LINES:
        return f"--- {old_name}\n+++ {new_name}\n({len(old)} lines become {len(new)})\n"
    lines = difflib.unified_diff(old, new, old_name, new_name, lineterm="")
    text = "\n".join(lines)
    if not text and (before is None or after is None or new_path not in (None, path)):
        text = f"--- {old_name}\n+++ {new_name}"
    return text + "\n" if text else ""


def _lines(text: str) -> list[str]:
    """Return the lines; mark the last one if it has no line end."""
    lines = split_lines(text)
    if lines and text[-1] not in "\r\n":
        lines[-1] += f"\n{_NO_END}"
    return lines
