"""List the files of a folder that no ``.gitignore`` excludes. Blocking.

Temporary files of agent-ls are skipped. Links to folders are not followed, so a walk ends; links to
files count if they stay inside the root.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from agent_ls.domain.temporary_files import is_temporary
from agent_ls.loop.ports.workspace import Listed

MAX_FILES = 500_000
"""The walk stops here to limit its time; the result says that it is cut."""
_ALWAYS = frozenset({".git", ".hg", ".svn", ".agent-ls"})
_CACHES = frozenset({"__pycache__", ".cache"})
_PRODUCTS = frozenset(
    {
        *("node_modules", ".venv", "venv", "site-packages", "target", "dist", "build", "out"),
        *(".next", ".nuxt", ".tox", ".gradle"),
    }
)
"""Ignored folders that programs fill, and empty again all the time."""
_RULES = ".gitignore"
_NOTHING = "(?!)"
_MAX_RULES_BYTES = 256 * 1024


class _RulesFile(NamedTuple):
    """The rules of one ``.gitignore``."""

    folder: str
    """Its folder: ``""``, or a path with a final slash."""
    spec: pathspec.GitIgnoreSpec
    any_pattern: re.Pattern[str]
    """Cheap first test whether any pattern matches: asking the spec takes four times as long."""


Entry: TypeAlias = tuple[str, "os.DirEntry[str]"]
"""A path relative to the root, and what stands there."""
Rules = tuple[_RulesFile, ...]
"""Outermost folder first."""


def at_most(limit: int, names: Iterable[str]) -> Listed:
    """Return at most ``limit`` names; the result says whether there are more."""
    rest = iter(names)
    files = list(islice(rest, limit))
    return Listed(files, is_cut=next(rest, None) is not None)


def walk(root: Path, start: str = "") -> Iterator[str]:
    """Yield the files below ``root/start``, relative to ``root``, sorted."""
    return (path for path, _ in walk_entries(root, start))


def walk_entries(
    root: Path, start: str = "", *, ignored: list[Entry] | None = None
) -> Iterator[Entry]:
    """Yield what ``walk`` does, each file with its entry, which opens each folder only once.

    Names that are not valid text are skipped, because the model could not name them. What a rule
    excludes is added to ``ignored``, folders with a final slash.
    """
    rules: Rules = ()
    above = ""
    for part in [part for part in start.split("/") if part]:
        rules = _with_rules(root, above, rules)
        above += part + "/"
    yield from _walk(root, above, rules, [] if ignored is None else ignored)


def files_below(ignored: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the files of ignored entries and of folders in there, folders of products as a whole.

    Caches are skipped.
    """
    open_entries = list(ignored)
    while open_entries:
        path, entry = open_entries.pop()
        if entry.name in _CACHES or entry.name.endswith("_cache") or not _is_text(entry.name):
            continue
        if not path.endswith("/"):
            if entry.is_file(follow_symlinks=False) and not is_temporary(entry.name):
                yield path, entry
        elif entry.name in _PRODUCTS:
            yield path, entry
        else:
            with suppress(OSError), os.scandir(entry.path) as found:
                for one in found:
                    end = "/" if one.is_dir(follow_symlinks=False) else ""
                    open_entries.append((f"{path}{one.name}{end}", one))


def _walk(root: Path, start: str, rules: Rules, ignored: list[Entry]) -> Iterator[Entry]:
    """Walk with an explicit stack, because folders may be nested deeper than Python's stack."""
    open_folders = [iter(_entries(root, start, rules, ignored))]
    while open_folders:
        found = next(open_folders[-1], None)
        if found is None:
            open_folders.pop()
            continue
        path, entry, inner_rules = found
        if inner_rules is None:
            yield path, entry
        else:
            open_folders.append(iter(_entries(root, path, inner_rules, ignored)))


def _entries(
    root: Path, folder: str, rules: Rules, ignored: list[Entry]
) -> list[tuple[str, os.DirEntry[str], Rules | None]]:
    """Return the entries of a folder, sorted: files with None, folders with their rules.

    Adds those that a rule excludes to ``ignored``.
    """
    rules = _with_rules(root, folder, rules)
    try:
        with os.scandir(root / folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []
    kept: list[tuple[str, os.DirEntry[str], Rules | None]] = []
    for entry in entries:
        path = folder + entry.name
        if entry.name in _ALWAYS or not _is_text(entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            if is_ignored(path + "/", rules):
                ignored.append((path + "/", entry))
            else:
                kept.append((path + "/", entry, rules))
        elif is_temporary(entry.name):
            # A write of agent-ls in progress: no file that anybody made.
            continue
        elif _is_inner_file(entry, root):
            if is_ignored(path, rules):
                ignored.append((path, entry))
            else:
                kept.append((path, entry, None))
    return kept


def is_ignored(path: str, rules: Rules) -> bool:
    """Tell whether the innermost rule that matches ``path`` excludes it."""
    for one in reversed(rules):
        name = path[len(one.folder) :]
        if one.any_pattern.search(name):
            said = one.spec.check_file(name).include
            if said is not None:
                return said
    return False


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _is_inner_file(entry: os.DirEntry[str], root: Path) -> bool:
    """Tell whether the entry is a regular file, or a link to one below the root."""
    if not entry.is_symlink():
        return entry.is_file(follow_symlinks=False)
    try:
        return entry.is_file() and Path(entry.path).resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _with_rules(root: Path, folder: str, rules: Rules) -> Rules:
    """Add the rules of the ``.gitignore`` in ``folder``, if any."""
    place = root / folder / _RULES
    try:
        facts = place.lstat()
        # Reading a pipe would block, and a link could lead anywhere.
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MAX_RULES_BYTES:
            return rules
        lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
        patterns = [GitIgnoreSpecPattern.pattern_to_regex(line)[0] for line in lines]
        # Make named groups anonymous: a name may occur only once in the joined pattern.
        any_of = "|".join(one.replace("?P<ps_d>", "?:") for one in patterns if one)
        spec = pathspec.GitIgnoreSpec.from_lines(lines)
        return (*rules, _RulesFile(folder, spec, re.compile(any_of or _NOTHING)))
    except (OSError, ValueError):
        return rules
