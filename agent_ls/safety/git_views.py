"""Sorts git by its subcommand: which only read, which change what git brings back, which lose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from agent_ls.safety.text import words
from agent_ls.safety.view_table import (
    READ_ONLY,
    TABLE,
    CommandClass,
    operands_of,
    shown,
    split_rows,
)

_GIT = {name: frozenset(found) for name, found in split_rows(TABLE["git"]).items()}
_LOSES, _KEEPS, _DRY = (split_rows(TABLE["git"][k]) for k in ("loses", "keeps", "dry"))
_WITH_VALUE = words("-C -c --git-dir --work-tree --namespace --exec-path")


def classify_git(rest: Sequence[str]) -> CommandClass:
    """Sort git by the words behind its name."""
    operands = operands_of(rest, _WITH_VALUE)
    sub = operands[0] if operands else ""
    given = rest[rest.index(sub) + 1 :] if sub else ()
    kept = any(one in _KEEPS.get(sub, ()) for one in given)
    kept &= not {"-W", "--worktree"} & set(given)
    if any(_is_option(one, word) for word in _DRY.get(sub, ()) for one in given):
        return READ_ONLY
    lost = any(_is_option(one, word) for word in _LOSES.get(sub, ()) for one in given)
    if sub == "checkout" and not {"-b", "--orphan", "--track", "-t"} & set(given):
        # ``git checkout HEAD src`` takes files.
        lost |= len(operands) > 2
    if not sub or (sub in _GIT["reads"] and not lost):
        return READ_ONLY
    if sub in _GIT["lists"] and not lost:
        names = [one for one in given if not one.startswith("-")]
        is_asked = len(names) == (sub == "config") or any(one in _GIT["listing"] for one in given)
        if is_asked and not (sub == "stash" and not names):
            return READ_ONLY
    if sub in _GIT["edit"] and (kept or not lost):
        return CommandClass("edit", f"git {sub} changes the repository")
    why = "may lose work" if lost and not kept else "does more than to read"
    return CommandClass("ask", f"git {shown(sub)} {why}")


def _is_option(given: str, wanted: str) -> bool:
    """Say whether a word is one that git takes for this one: joined, or cut short."""
    if given.startswith("--") and wanted.startswith("--") and len(given) > 3:
        return wanted.startswith(given.partition("=")[0])
    if re.fullmatch(r"-[A-Za-z]{2,}", given) and re.fullmatch(r"-[A-Za-z]", wanted):
        return wanted[1] in given
    return fnmatchcase(given, wanted)
