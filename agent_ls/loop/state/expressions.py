"""Parses references to earlier results: ``†state.x.value || †state.x.error``.

Syntax only; the values are looked up elsewhere. ``&&`` binds closer than ``||``. Pure. Source:
S1, variables and expressions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.domain.events import OutputMethod

DAGGER = "†"

Path = tuple[str, ...]
"""The kind (such as ``state``), then the keys below it."""

_NAME = r"[^\W\d][\w-]*"
_PATH = rf"†{_NAME}(?:\.[\w-]+)+"
_WHOLE = re.compile(rf"\s*{_PATH}(?:\s*(?:\|\||&&)\s*{_PATH})*\s*")
_OUTPUT = re.compile(rf"†?{_NAME}(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class Expression:
    """Branches in order; the first with all paths present gives the value of its last path."""

    text: str
    branches: tuple[tuple[Path, ...], ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return every path in the expression."""
        return tuple(path for branch in self.branches for path in branch)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a call's result is stored besides the conversation."""

    output: Expression
    method: OutputMethod = "set"


def parse_expression(text: str) -> Expression | None:
    """Parse the whole text as an expression; None for any other text."""
    if DAGGER not in text or not _WHOLE.fullmatch(text):
        return None
    return Expression(text.strip(), _branches(text))


def parse_output(text: str) -> Expression:
    """Parse an output path: ``a && b`` stores to both, ``a || b`` to ``b`` only on failure.

    The dagger may be missing; a single name gets the prefix ``state.``.
    Errors: ``ValueError`` for anything else.
    """
    parts = re.split(r"(\|\||&&)", text)
    words = [part.strip() for part in parts]
    if not all(_OUTPUT.fullmatch(word) for word in words[::2]):
        raise ValueError(
            f"output_path {text!r} is no path; write it as †state.name, with || or && between two"
        )
    named = [word.removeprefix(DAGGER) for word in words[::2]]
    words[::2] = [f"{DAGGER}{one if '.' in one else f'state.{one}'}" for one in named]
    whole = " ".join(words)
    return Expression(whole, _branches(whole))


def shown(path: Path) -> str:
    """Return the path as text, such as ``†state.x``."""
    return DAGGER + ".".join(path)


def _branches(text: str) -> tuple[tuple[Path, ...], ...]:
    return tuple(
        tuple(tuple(path.strip().removeprefix(DAGGER).split(".")) for path in branch.split("&&"))
        for branch in text.split("||")
    )
