"""Reads rules for ignored files where ripgrep does not: without it, and for what git tracks.

Temporary files of agent-ls are skipped, and links are not followed. Blocking.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pathspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from agent_ls.domain.temporary_files import is_temporary
from agent_ls.safety.git_places import data_folder
from agent_ls.safety.ripgrep import DOT_FILES, NEVER_LISTED, RULES_FILES, repository_above

_NOTHING = "(?!)"
_EXCLUDES_FILE = re.compile(r"(?im)^\s*excludesfile\s*=\s*\"?\s*(\S+?)\s*\"?\s*$")
_OF_A_REPOSITORY = (1, 2)
"""The ranks of its excludes and of the files named ``.gitignore``."""
_MAX_RULES_BYTES = 256 * 1024


class _RulesFile(NamedTuple):
    """The rules of one file."""

    rank: int
    """Rules of a higher rank win, then those of an inner folder."""
    folder: str
    """Its folder: ``""``, or a path with a final slash."""
    above: str
    """The path from its folder to the top, if it lies above that; with a final slash."""
    spec: pathspec.GitIgnoreSpec
    any_pattern: re.Pattern[str]
    """Cheap first test whether any pattern matches: asking the spec takes four times as long."""


Rules = tuple[_RulesFile, ...]
"""Weakest first."""


def walk(root: Path, start: str = "") -> Iterator[str]:
    """Yield the files below ``root/start``, relative to ``root``, that no rule excludes."""
    top = repository_above(root)
    rules = _outer_rules(top)
    top = top or root
    front = _front(top, root)
    first = f"{front}{start.strip('/')}/" if start.strip("/") else front
    for folder in _folders_above(first):
        rules = _with_folder(rules, top, folder)
    # A stack, because folders may be nested deeper than Python's stack.
    open_folders = [(first, rules)]
    while open_folders:
        folder, outer = open_folders.pop()
        rules = _with_folder(outer, top, folder)
        try:
            with os.scandir(top / folder) as found:
                entries = list(found)
        except OSError:
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name in NEVER_LISTED or is_temporary(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _is_ignored(path + "/", rules):
                    open_folders.append((path + "/", rules))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(path, rules):
                yield path.removeprefix(front)


class IgnoreRules:
    """The rules for the files of a folder, read where they are asked about."""

    def __init__(self, root: Path, *, names: tuple[str, ...] = RULES_FILES) -> None:
        """Take a resolved folder, and which rules files count.

        Only with git's own files among these do git's rules for all folders count, too.
        """
        top = repository_above(root)
        self._top, self._names = top or root, names
        self._has_git = names == RULES_FILES
        dots = _rules_above(top) if top else ()
        self._above = _outer_rules(top) if self._has_git else dots
        self._front = _front(self._top, root)
        self._known: dict[str, tuple[Rules, bool]] = {}
        """By folder: the rules of the folders above it and its own, and whether they exclude it."""

    def excludes(self, name: str) -> bool:
        """Say whether a rule excludes a file of the folder, or a folder around it.

        The name of a folder ends with a slash.
        """
        path = self._front + name
        rules, is_excluded = self._at(path[: path.rfind("/") + 1])
        return is_excluded or (not path.endswith("/") and _is_ignored(path, rules))

    def _at(self, folder: str) -> tuple[Rules, bool]:
        if (known := self._known.get(folder)) is None:
            rules: Rules = self._above
            is_excluded = False
            if folder:
                rules, is_excluded = self._at(folder[: folder.rstrip("/").rfind("/") + 1])
                is_excluded = is_excluded or _is_ignored(folder, rules)
                if self._has_git and os.path.lexists(self._top / folder / ".git"):
                    # The rules of a repository end where another one begins.
                    rules = tuple(one for one in rules if one.rank not in _OF_A_REPOSITORY)
                    rules = _with_excludes(rules, self._top / folder, folder)
            rules = _with_folder(rules, self._top, folder, names=self._names)
            known = self._known[folder] = rules, is_excluded
        return known


def outer_rules_files(root: Path) -> tuple[Path, ...]:
    """Return where rules lie, or could lie, that count in a resolved folder but are not in it."""
    top = repository_above(root)
    places = [*_global_configs(), *filter(None, (_global_excludes(),))]
    if top is not None:
        with suppress(OSError, ValueError):
            places.append(data_folder(top / ".git") / "info" / "exclude")
        places += [above / name for above in root.parents for name in RULES_FILES]
    return tuple(places)


def _outer_rules(top: Path | None) -> Rules:
    """Return the rules that count in a whole repository, or in a folder without one."""
    rules: Rules = ()
    if top is not None:
        rules = _with_excludes(rules, top, "") + _rules_above(top)
    place = _global_excludes()
    return rules if place is None else _with_file(rules, 0, place, "")


def _with_excludes(rules: Rules, top: Path, folder: str) -> Rules:
    """Add the rules that a repository keeps beside its data, if any."""
    with suppress(OSError, ValueError):
        place = data_folder(top / ".git") / "info" / "exclude"
        return _with_file(rules, 1, place, folder)
    return rules


def _global_configs() -> tuple[Path, ...]:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path.home() / ".gitconfig", Path(config, "git", "config")


def _global_excludes() -> Path | None:
    """Return the user's rules for all repositories, as ripgrep looks for them."""
    for place in _global_configs():
        with suppress(OSError):
            if place.stat().st_size <= _MAX_RULES_BYTES:
                found = _EXCLUDES_FILE.search(place.read_text(errors="replace"))
                if found:
                    return Path(found[1]).expanduser()
    return _global_configs()[1].with_name("ignore")


def _rules_above(top: Path) -> Rules:
    """Return the rules of ``.ignore`` files in the folders above the top of a repository."""
    rules: Rules = ()
    for folder in reversed(top.parents):
        rules = _with_folder(
            rules, folder, "", names=DOT_FILES, above=f"{top.relative_to(folder).as_posix()}/"
        )
    return rules


def is_text(name: str) -> bool:
    """Say whether a file name is valid text."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _front(top: Path, root: Path) -> str:
    """Return the path of a folder in another: ``""``, or with a final slash."""
    return "" if top == root else f"{root.relative_to(top).as_posix()}/"


def _folders_above(folder: str) -> Iterator[str]:
    """Yield the folders around a folder, outermost first."""
    at = 0
    while at < len(folder):
        yield folder[:at]
        at = folder.index("/", at) + 1


def _is_ignored(path: str, rules: Rules) -> bool:
    """Tell whether the strongest rule that matches ``path`` excludes it."""
    for one in reversed(rules):
        name = one.above + path[len(one.folder) :]
        if one.any_pattern.search(name):
            said = one.spec.check_file(name).include
            if said is not None:
                return said
    return False


def _with_folder(
    rules: Rules, top: Path, folder: str, names: tuple[str, ...] = RULES_FILES, above: str = ""
) -> Rules:
    """Add the rules of the files with these names in a folder, if any."""
    for name in names:
        rank = 2 + RULES_FILES.index(name)
        rules = _with_file(rules, rank, top / folder / name, folder, above)
    return rules


def _with_file(rules: Rules, rank: int, place: Path, folder: str, above: str = "") -> Rules:
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
        new = _RulesFile(rank, folder, above, spec, re.compile(any_of or _NOTHING))
    except (OSError, ValueError):
        return rules
    return tuple(sorted((*rules, new), key=lambda one: one.rank))
