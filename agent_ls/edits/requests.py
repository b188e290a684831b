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
    final_end: bool | None = None
    """Whether the file is to end with a line end; None leaves it as it is."""

    @cached_property
    def old(self) -> list[str]:
        """Return the lines that should be there."""
        return [line.text for line in self.lines if line.sign != "+"]

    @cached_property
    def new(self) -> list[str]:
        """Return the lines that should be there afterwards."""
        return [line.text for line in self.lines if line.sign != "-"]


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
