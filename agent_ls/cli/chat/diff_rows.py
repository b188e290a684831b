"""Reads a unified diff into rows with line numbers, for a terminal. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_RANGES = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff."""

    kind: Literal["file", "gap", "same", "added", "removed", "note"]
    """``gap`` stands between two hunks; ``note`` is any line that belongs to no hunk."""
    text: str
    number: int = 0
    """From 1: of a removed line in the old text, of any other in the new one; 0: it has none."""


def is_diff(text: str) -> bool:
    """Say whether a text holds a unified diff."""
    return any(_RANGES.match(line) for line in text.splitlines())


def rows_of(diff: str) -> Iterator[DiffRow]:
    """Yield the rows of a unified diff of any number of files; other text comes as notes."""
    old = new = 0
    name = ""
    is_in_hunk = False
    for line in diff.split("\n"):
        if found := _RANGES.match(line):
            if is_in_hunk:
                yield DiffRow("gap", "⋮")
            old, new, is_in_hunk = int(found[1]), int(found[2]), True
        elif line.startswith(("--- a/", "--- /dev/null")):
            name, is_in_hunk = line[4:], False
        elif line.startswith("+++ ") and not is_in_hunk:
            yield DiffRow("file", _name(name, line[4:]))
        elif is_in_hunk and line.startswith("+"):
            yield DiffRow("added", line[1:], new)
            new += 1
        elif is_in_hunk and line.startswith("-"):
            yield DiffRow("removed", line[1:], old)
            old += 1
        elif is_in_hunk and line.startswith(" "):
            yield DiffRow("same", line[1:], new)
            old, new = old + 1, new + 1
        elif line:
            yield DiffRow("note", line)


def _name(old: str, new: str) -> str:
    """Return how a file is called, from the two names of its diff."""
    before, after = (one.partition("/")[2] if one != "/dev/null" else "" for one in (old, new))
    if not before:
        return f"{after} (new)"
    if not after:
        return f"{before} (deleted)"
    return after if before == after else f"{before} → {after}"
