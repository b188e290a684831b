"""The request types of the edit engine (search and replace, hunks, patches) and its refusal."""

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
class EditRequest:
    """Replace ``old`` by ``new``."""

    old: str
    new: str
    line: int | None = None
    """1-based hint for the first line of ``old``; it only breaks ties."""
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class HunkLine:
    """One line of a hunk, without its line end."""

    sign: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True)
class Hunk:
    """Lines to find, remove and add."""

    lines: tuple[HunkLine, ...]
    line: int | None = None
    """1-based hint for the first old line; it only breaks ties."""
    anchors: tuple[str, ...] = ()
    """Lines above the place, outermost first."""
    is_anchor_sure: bool = False
    """The format guarantees that the place is below the anchors; else they only break ties."""
    is_diff: bool = False
    """Its lines have signs, which models drop or double; so one blank more or less is ignored."""
    at_end: bool = False
    """The patch says that the old lines are the file's last."""

    @cached_property
    def old(self) -> list[str]:
        """Return the lines before the change."""
        return [line.text for line in self.lines if line.sign != "+"]

    @cached_property
    def new(self) -> list[str]:
        """Return the lines after the change."""
        return [line.text for line in self.lines if line.sign != "-"]


@dataclass(frozen=True, slots=True)
class Change:
    """One run of removed and added lines: ``new`` replaces the old lines ``low:high``."""

    low: int
    high: int
    new: list[str]
    starts_new: bool
    """The first added line is the first line of the new text."""


def changes_of(hunk: Hunk) -> list[Change]:
    """Return the runs of removed and added lines, in order."""
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
    """The part of a patch for one file."""

    kind: PatchKind
    path: str
    hunks: tuple[Hunk, ...] = ()
    new_path: str | None = None
    """Target of a move, with or without changes."""
    text: str = ""
    """Text of a file to create; also of a file to change that was empty and so may be missing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A window of the text that is similar to the wanted text."""

    line: int
    """1-based."""
    lines: list[str]
    score: float
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing is changed, with a message that a model can act on."""

    reason: str
    """The whole message: what was sought, what comes nearest, and what to do."""
    why: Why = "not-found"


Placed = tuple[Replacement, ...] | Refused
"""The result of placing an edit in a text."""
