"""Which files of a folder count: everything that no ``.gitignore`` on the way leaves out.

Links to folders are not followed, so a walk ends. Blocking.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pathspec

MAX_FILES = 50_000
_ALWAYS = frozenset({".git", ".hg", ".svn", ".agent-ls"})
_RULES = ".gitignore"
_MAX_RULES_BYTES = 256 * 1024

Rules = tuple[tuple[str, pathspec.GitIgnoreSpec], ...]
"""Specs with the folder they stand in (``""`` or ending in a slash), outermost first."""


def walk(root: Path, start: str = "") -> Iterator[str]:
    """Yield the files below ``root/start``, relative to ``root``, sorted; at most ``MAX_FILES``."""
    rules: Rules = ()
    above = ""
    for part in [part for part in start.split("/") if part]:
        rules = _with_rules(root, above, rules)
        above += part + "/"
    for number, path in enumerate(_walk(root, above, rules)):
        if number >= MAX_FILES:
            return
        yield path


def _walk(root: Path, folder: str, rules: Rules) -> Iterator[str]:
    rules = _with_rules(root, folder, rules)
    try:
        with os.scandir(root / folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name in _ALWAYS:
            continue
        path = folder + entry.name
        if entry.is_dir(follow_symlinks=False):
            if not is_ignored(path + "/", rules):
                yield from _walk(root, path + "/", rules)
        elif entry.is_file() and not is_ignored(path, rules):
            yield path


def is_ignored(path: str, rules: Rules) -> bool:
    """Say whether the innermost rule that speaks of ``path`` leaves it out."""
    for folder, spec in reversed(rules):
        said = spec.check_file(path[len(folder) :]).include
        if said is not None:
            return said
    return False


def _with_rules(root: Path, folder: str, rules: Rules) -> Rules:
    """Return the rules with those that stand in ``folder`` itself."""
    place = root / folder / _RULES
    try:
        if place.is_symlink() or place.stat().st_size > _MAX_RULES_BYTES:
            return rules
        lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
        return (*rules, (folder, pathspec.GitIgnoreSpec.from_lines(lines)))
    except (OSError, ValueError):
        return rules
