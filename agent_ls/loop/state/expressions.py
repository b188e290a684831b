"""References to earlier results as a model writes them: ``†state.x.value || †state.x.error``.

Pure: how they are spelled, not what they stand for. ``&&`` binds closer than ``||``.
Source: seed 001, variables and expressions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.domain.events import OutputMethod

DAGGER = "†"

Path = tuple[str, ...]
"""Kind, then the keys below it."""

_NAME = r"[^\W\d][\w-]*"
_PATH = rf"†{_NAME}(?:\.[\w-]+)+"
_WHOLE = re.compile(rf"\s*{_PATH}(?:\s*(?:\|\||&&)\s*{_PATH})*\s*")
_OUTPUT = re.compile(rf"†?{_NAME}(?:\.[\w-]+)*")


@dataclass(frozen=True, slots=True)
class Expression:
    """Branches in order; the first whose paths are all present gives the value of its last."""

    text: str
    branches: tuple[tuple[Path, ...], ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return every path that is named."""
        return tuple(path for branch in self.branches for path in branch)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a call leaves its result besides the conversation."""

    output: Expression
    method: OutputMethod = "set"


def parse_expression(text: str) -> Expression | None:
    """Return the expression that the whole text is; None for any other text."""
    if DAGGER not in text or not _WHOLE.fullmatch(text):
        return None
    return Expression(text.strip(), _branches(text))


def parse_output(text: str) -> Expression:
    """Return where a result goes: ``a && b`` to both, ``a || b`` to the first when all went well,
    else to the second.

    A path without its dagger, and one name alone, are taken as meant; ``state.`` is put in front
    of the latter. Errors: ``ValueError`` for anything else.
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
    """Return how a path is written."""
    return DAGGER + ".".join(path)


def _branches(text: str) -> tuple[tuple[Path, ...], ...]:
    return tuple(
        tuple(tuple(path.strip().removeprefix(DAGGER).split(".")) for path in branch.split("&&"))
        for branch in text.split("||")
    )
