"""Symbols defined in code, and where names are used. Offsets are code points."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition in one text."""

    name: str
    qualified: str
    """With its enclosing symbols, as in ``Class.method``; not always unique in its text."""
    kind: str
    depth: int
    """0 at the top level."""
    line: int
    """1-based line of its name."""
    last_line: int
    first_line: int
    """Line of its first decorator, attribute or doc comment."""
    start: int
    """Includes decorators, attributes and the comment right above."""
    end: int
    signature: str
    """Its declaration on one line, without the body."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition somewhere in the workspace."""

    path: str
    qualified: str
    kind: str
    line: int
    signature: str


class Definitions(list[Definition]):
    """Definitions of a name, best match first."""

    def __init__(self, found: Iterable[Definition] = (), gap: str = "") -> None:
        """Take the definitions and, in ``gap``, which files were not searched; empty: none."""
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
    """Occurrences of a name, and how many more are not listed."""

    found: tuple[Occurrence, ...]
    more: int = 0
    gap: str = ""
    """Which files were not searched, for the reader; empty: none."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One syntax error in a text."""

    line: int
    """1-based."""
    text: str
    """The line, or what is missing there."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """A file's text as it is, and as it would be."""

    before: str
    after: str
