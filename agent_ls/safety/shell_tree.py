"""What a shell command consists of, as a tree of commands, compounds and pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_ls.safety.shell_words import Word

Connector = Literal["", "&&", "||", ";"]


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command."""

    words: tuple[Word, ...]
    """At least one."""
    reads: tuple[Word, ...] = ()
    """Files redirected to its input."""
    writes: tuple[Word, ...] = ()
    """Files that its output is redirected to."""
    sets: tuple[str, ...] = ()
    """Names of variables that are set for this command alone."""
    printed: tuple[Sequence, ...] = ()
    """What runs first in subshells, and prints parts of the words."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One variable gets a value."""

    name: str
    value: Word
    printed: tuple[Sequence, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Commands in braces or, as a subshell, in parentheses."""

    body: Sequence
    is_subshell: bool


@dataclass(frozen=True, slots=True)
class For:
    """A loop over words."""

    name: str
    words: tuple[Word, ...]
    body: Sequence


@dataclass(frozen=True, slots=True)
class If:
    """Branches with their conditions, and the else branch."""

    branches: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None


@dataclass(frozen=True, slots=True)
class WhileRead:
    """A loop over the lines that ``read`` gets."""

    names: tuple[str, ...]
    """The variables that get parts of a line."""
    body: Sequence
    reads: tuple[Word, ...]
    """The file that the lines are of, if they do not come through a pipe."""


Element = Command | Assignment | Group | For | If | WhileRead


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by pipes; a single one runs in the shell itself."""

    connector: Connector
    """The operator before it; empty for the first."""
    elements: tuple[Element, ...]
    is_negated: bool = False


Sequence = tuple[Pipeline, ...]
