"""What is asked of the edit engine, and how it says no.

Owns the typed requests of search and replace and of diffs, and the typed refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from agent_ls.domain.edits import Replacement

Why = Literal[
    "not-found",
    "ambiguous",
    "too-many",
    "conflict",
    "applied",
    "equal",
    "blank",
    "overlap",
    "marker",
    "indentation",
    "malformed",
    "exists",
    "missing",
]


@dataclass(frozen=True, slots=True)
class Wish:
    """Replace ``old`` by ``new``."""

    old: str
    new: str
    line: int | None = None
    """1-based hint for the first line of ``old``: breaks ties, never overrules a unique place."""
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk, without its line end."""

    sign: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True)
class Hunk:
    """Lines to find, and which of them go and which come."""

    lines: tuple[HunkLine, ...]
    line: int | None = None
    """1-based line of the first old line, as the model believes: breaks ties only."""
    anchors: tuple[str, ...] = ()
    """Lines that stand before the place, outermost first."""
    is_anchor_sure: bool = False
    """The place comes after the anchors by the format's own rule; else they only break ties."""
    is_diff: bool = False
    """Its lines carry a prefix, which models lose or double; so one blank is no indentation."""
    at_end: bool = False
    """The old lines are said to be the file's last."""

    @cached_property
    def old(self) -> list[str]:
        """Return the lines that should be there."""
        return [line.text for line in self.lines if line.sign != "+"]

    @cached_property
    def new(self) -> list[str]:
        """Return the lines that should be there afterwards."""
        return [line.text for line in self.lines if line.sign != "-"]


@dataclass(frozen=True, slots=True)
class Change:
    """One run of removed and added lines, by numbers of old lines."""

    low: int
    high: int
    new: list[str]
    starts_new: bool
    """The first added line is the first line of the new text."""


def changes_of(hunk: Hunk) -> list[Change]:
    """Return the runs of the hunk that change something, in order."""
    found: list[Change] = []
    at = low = 0
    new: list[str] = []
    is_open = has_new = starts = False
    for line in hunk.lines:
        if line.sign == " ":
            if is_open:
                found.append(Change(low, at, new, starts))
            at, is_open, has_new = at + 1, False, True
            continue
        if not is_open:
            low, new, is_open, starts = at, [], True, not has_new
        if line.sign == "-":
            at += 1
        else:
            new.append(line.text)
    if is_open:
        found.append(Change(low, at, new, starts))
    return found


PatchKind = Literal["change", "create", "delete", "move", "replace"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch wants of one file."""

    kind: PatchKind
    path: str
    hunks: tuple[Hunk, ...] = ()
    new_path: str | None = None
    """Where it is moved to, with or without changes."""
    text: str = ""
    """Of a file to create, or of one to change that may be missing: nothing was in it before."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A window of the text that is like the wanted one."""

    line: int
    """1-based."""
    lines: list[str]
    score: float
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing is changed, in words a model can act on."""

    reason: str
    """All of it: what was sought, what comes nearest, and what to do."""
    why: Why = "not-found"


Placed = tuple[Replacement, ...] | Refused
"""What comes of placing an edit in a text."""
