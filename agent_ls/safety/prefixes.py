"""Which rule by prefix may be offered for a command, and what such a rule leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from agent_ls.domain.rules import PatternRule
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.named_programs import is_covered
from agent_ls.safety.paths import is_inside
from agent_ls.safety.view_table import PREFIX_RULES

_MAX_WORDS = 3
_PLAIN = re.compile(r"(?:\./)?[\w@+:][\w@+:.-]*")
_PIECES = re.compile(r"[=,:]")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*[:+?]?=")


def prefix_rule(command: str, cwd: Path, roots: Sequence[Root], *, is_held: bool) -> str | None:
    """Return the rule that covers all commands like this one; None for no sensible one.

    Shape: ``run_command: cargo test *``. Looks at the disk, so call it off the event loop.
    """
    found: set[tuple[str, ...]] = set()

    def covers(values: Sequence[str], folder: Path) -> bool:
        prefix = _prefix(values)
        is_here = "/" not in values[0] or any(folder == root.path for root in roots)
        if prefix is None or not is_here or leads_away(values[len(prefix) :], folder, roots):
            return False
        found.add(prefix)
        return len(found) == 1

    if not is_covered(command, cwd, roots, covers, is_held=is_held) or not found:
        return None
    return f"run_command: {' '.join(found.pop())} *"


def is_offered(rule: PatternRule) -> bool:
    """Say whether an approval offers this rule by prefix, or one that covers it."""
    return rule.subject == "run_command" and bool(rule.words) and _prefix(rule.words) is not None


def _prefix(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the program, with its subcommand and target if it has them."""
    kinds = PREFIX_RULES.get(values[0].removeprefix("./"), ())
    first = values[1].lower() if len(values) > 1 else ""
    if not kinds or kinds[0] == "script":
        return None
    if kinds == ("*",):
        size = 1
    elif kinds == ("targets",) or first in kinds:
        size = 2
    else:
        size = _MAX_WORDS if f"{first}:" in kinds else len(values) + 1
    prefix = tuple(values[:size])
    return prefix if len(prefix) == size and all(map(_PLAIN.fullmatch, prefix)) else None


def leads_away(values: Sequence[str], folder: Path, roots: Sequence[Root]) -> bool:
    """Say whether a word behind a prefix leads outside, or sets what is run."""
    for word in values:
        # ``make CC=…`` sets what is run; ``@file`` holds more words.
        if _ASSIGNED.match(word) or word.startswith("@") or "://" in word:
            return True
        pieces = {*_PIECES.split(word), word[2:] if word.startswith("-") else word}
        if any(_is_outside(piece, folder, roots) for piece in pieces):
            return True
    return False


def _is_outside(piece: str, folder: Path, roots: Sequence[Root]) -> bool:
    if piece.startswith("~"):
        return True
    try:
        return not is_inside((folder / piece).resolve(), roots)
    except (OSError, RuntimeError, ValueError):
        return True
