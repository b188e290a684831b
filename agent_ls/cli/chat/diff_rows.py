"""Reads a unified diff into rows with line numbers, for a terminal. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

_Kind = Literal["file", "gap", "same", "added", "removed", "note"]
_KINDS: Mapping[str, _Kind] = {"+": "added", "-": "removed", " ": "same"}
_RANGES = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)")
_OLD_NAME, _NEW_NAME = re.compile(r"--- (?:a/|/dev/null$)"), re.compile(r"\+\+\+ (?:b/|/dev/null$)")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff."""

    kind: _Kind
    """``gap`` stands between two hunks; ``note`` is any line that belongs to no hunk."""
    text: str
    number: int = 0
    """From 1: of a removed line in the old text, of any other in the new one; 0: it has none."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The rows of one file."""

    name: str
    """As it is shown; empty for rows that stand before any file."""
    rows: tuple[DiffRow, ...]

    @property
    def size(self) -> str:
        """Return how much changes, such as ``+4 -1``."""
        return size_of(self.rows)


def size_of(rows: Iterable[DiffRow]) -> str:
    """Return how many lines are added and removed, such as ``+4 -1``."""
    count = Counter(one.kind for one in rows)
    return f"+{count['added']} -{count['removed']}"


def files_of(rows: Iterable[DiffRow]) -> Iterator[FileDiff]:
    """Yield the rows by file."""
    name, found = "", list[DiffRow]()
    for one in rows:
        if one.kind != "file":
            found.append(one)
            continue
        if name or found:
            yield FileDiff(name, tuple(found))
        name, found = one.text, []
    if name or found:
        yield FileDiff(name, tuple(found))


def is_diff(text: str) -> bool:
    """Say whether a text holds a unified diff."""
    return any(_RANGES.match(line) for line in text.splitlines())


@dataclass(slots=True)
class _Hunk:
    """Where the next line of a hunk is, and how many lines it still has."""

    old: int = 0
    new: int = 0
    left_old: int = 0
    left_new: int = 0

    def row(self, line: str) -> DiffRow | None:
        """Return the row of its next line; None for a line that is none of it."""
        kind = _KINDS.get(line[:1])
        is_old, is_new = kind in ("removed", "same"), kind in ("added", "same")
        if kind is None or (is_old and not self.left_old) or (is_new and not self.left_new):
            return None
        row = DiffRow(kind, line[1:], self.new if is_new else self.old)
        self.old, self.left_old = self.old + is_old, self.left_old - is_old
        self.new, self.left_new = self.new + is_new, self.left_new - is_new
        return row


def rows_of(diff: str) -> Iterator[DiffRow]:
    """Yield the rows of a diff of one or more files; other text comes as notes.

    Every line that has text is in a row: what a user judges may only look like a diff.
    """
    hunk = _Hunk()
    has_hunk = is_second = False
    for line, following in pairwise([*diff.split("\n"), ""]):
        if is_second:
            # The second line of a file's head, which the row before has.
            is_second = False
        elif found := _RANGES.match(line):
            if has_hunk:
                yield DiffRow("gap", "⋮")
            has_hunk = True
            hunk = _Hunk(int(found[1]), int(found[3]), int(found[2] or 1), int(found[4] or 1))
            if about := found[5].strip():
                yield DiffRow("note", about)
        elif row := hunk.row(line):
            yield row
        elif _OLD_NAME.match(line) and _NEW_NAME.match(following):
            yield DiffRow("file", _name(line[4:], following[4:]))
            has_hunk, is_second = False, True
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
