"""Which rule by prefix may be offered for a command, and what such a rule leaves out.

A rule about ``pytest …`` is about what the project's tests do. So it covers no word that leads
outside of the workspace, and none that names other code to run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.commands import is_covered
from agent_ls.safety.flags import words
from agent_ls.safety.paths import is_inside
from agent_ls.safety.work import TABLES

_PROGRAMS: dict[str, str] = TABLES["programs"] | TABLES["prefixes"]
_CODE_OPTIONS: frozenset[str] = words(TABLES["code_options"]["words"])
_CODE_PATTERNS = {
    program: re.compile(pattern) for program, pattern in TABLES["code_patterns"].items()
}
_MAX_WORDS = 3
_PLAIN = re.compile(r"(?:\./)?[\w@+:][\w@+:.-]*")
_PIECES = re.compile(r"[=,:]")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*[:+?]?=")


def prefix_rule(command: str, cwd: Path, roots: Sequence[Root]) -> str | None:
    """Return the rule that covers all commands like this one; None for no sensible one.

    Shape: ``run_command: cargo test *``. Looks at the disk, so call it off the event loop.
    """
    found: set[tuple[str, ...]] = set()

    def covers(values: Sequence[str], folder: Path) -> bool:
        prefix = _prefix(values)
        is_here = "/" not in values[0] or any(folder == root.path for root in roots)
        if prefix is None or not is_here or leads_away(values, len(prefix), folder, roots):
            return False
        found.add(prefix)
        return len(found) == 1

    if not is_covered(command, cwd, roots, covers) or not found:
        return None
    return f"run_command: {' '.join(found.pop())} *"


def _prefix(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the program, with its subcommand and target if it has them."""
    base = values[0].removeprefix("./")
    kinds = _PROGRAMS.get(base, "").split()
    first = values[1].lower() if len(values) > 1 else ""
    if not kinds or kinds[0] in ("script", "file") or base in _CODE_OPTIONS:
        return None
    if kinds == ["*"]:
        size = 1
    elif kinds == ["targets"] or first in kinds:
        size = 2
    else:
        size = _MAX_WORDS if f"{first}:" in kinds else len(values) + 1
    prefix = tuple(values[:size])
    return prefix if len(prefix) == size and all(map(_PLAIN.fullmatch, prefix)) else None


def leads_away(values: Sequence[str], size: int, folder: Path, roots: Sequence[Root]) -> bool:
    """Say whether a word behind a prefix of this size leads outside, or names other code to run."""
    programs = [one.rpartition("/")[2] for one in values[:size] or values[:1]]
    patterns = [_CODE_PATTERNS[one] for one in programs if one in _CODE_PATTERNS]
    for word in values[max(size, 1) :]:
        # ``make CC=…`` sets what is run; ``@file`` holds more words.
        if _names_code(word) or _ASSIGNED.match(word) or word.startswith("@") or "://" in word:
            return True
        pieces = {*_PIECES.split(word), word[2:] if word.startswith("-") else word}
        if any(_is_outside(piece, folder, roots) for piece in pieces):
            return True
        if any(one.match(word) for one in patterns):
            return True
    return False


def _names_code(word: str) -> bool:
    """Say whether a word is one of the options, or may be short for one."""
    name = word.partition("=")[0]
    is_long = name.startswith("--") and len(name) > len("--")
    return name in _CODE_OPTIONS or (is_long and any(o.startswith(name) for o in _CODE_OPTIONS))


def _is_outside(piece: str, folder: Path, roots: Sequence[Root]) -> bool:
    if piece.startswith("~"):
        return True
    try:
        return not is_inside((folder / piece).resolve(), roots)
    except (OSError, RuntimeError, ValueError):
        return True
