"""What code defines: named places in a text, and where names are used. Offsets are code points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition in one text."""

    name: str
    qualified: str
    """With what it is inside of, as in ``Class.method``; not always unique in its text."""
    kind: str
    depth: int
    """0 for what is inside of nothing."""
    line: int
    """1-based, where its name stands."""
    last_line: int
    first_line: int
    """Where its first decorator, attribute or doc comment stands."""
    start: int
    """Code points; decorators, attributes and the comment right above it are included."""
    end: int
    own_start: int
    """Where it begins behind the comment above it."""
    body: tuple[int, int] | None
    """Code points of what encloses its members or statements."""
    signature: str
    """Its declaration on one line, without the body."""
    runs_into: int | None = None
    """1-based; a line inside of it at which something else seems to begin, as it is broken; or one
    behind it that may be a part of it."""
    runs_from: int | None = None
    """1-based; a line from its first one on that may be no part of it, as it is broken there."""
    shared: tuple[str, ...] = ()
    """The qualified names of what the same declaration defines, as ``y`` in ``int x, y;``."""
    is_listed: bool = False
    """It stands in a list with commas."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition somewhere in the workspace."""

    path: str
    qualified: str
    kind: str
    line: int
    signature: str


class Definitions(list[Definition]):
    """What is defined under a name, the best first."""

    def __init__(self, found: Iterable[Definition] = (), gap: str = "") -> None:
        """Take them, and for the reader which files were not looked at; empty when all were."""
        super().__init__(found)
        self.gap = gap


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where a name is used or defined."""

    path: str
    line: int
    text: str
    """The line it stands on."""
    is_definition: bool


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where a name occurs, and how much of that is not listed."""

    found: tuple[Occurrence, ...]
    more: int = 0
    gap: str = ""
    """Which files were not looked at, for the reader; empty when all were."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One place where a text does not parse."""

    line: int
    """1-based."""
    text: str
    """The line, or what is missing there."""
