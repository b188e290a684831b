"""Which files a pipe could name: for programs that take the names of files from another one.

An answer holds every name that could come, as the disk is now, and perhaps more. Where that cannot
be said there is none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

from agent_ls.safety.closer_looks import find_tests
from agent_ls.safety.flags import parse, words
from agent_ls.safety.git_repository import tracked_names
from agent_ls.safety.operands import NotInsideError, Reach
from agent_ls.safety.read_only import PROGRAMS
from agent_ls.safety.shell_walk import Step

_MAX_WALKED = 20_000
_MAX_NAMES = 2_000
_PLAIN_NAME = re.compile(r"(?!-)[^\s'\"\\]+")
"""What stays one name in a list of names."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What a search could find: everything below some places, but for these limits."""

    places: Sequence[str]
    fitting: Sequence[str] = ()
    """Patterns in small letters, of which a name fits one; of all names when there is none."""
    files_only: bool = False
    skipped: Sequence[str] = ()
    """Patterns that end with a star, of paths that are not shown."""

    def names(self, reach: Reach) -> Iterator[str]:
        seen = 0
        for place in self.places:
            if not self.files_only or not (reach.folder / place).is_dir():
                yield place
            stack = [place]
            while stack:
                folder = stack.pop()
                for entry in _entries(reach.folder / folder):
                    seen += 1
                    if seen > _MAX_WALKED:
                        raise NotInsideError("it looks through more files than can be checked")
                    name = f"{folder}/{entry.name}"
                    if entry.is_dir(follow_symlinks=False) and not self._skips(name):
                        stack.append(name)
                    if self._fits(entry):
                        yield name

    def _skips(self, folder: str) -> bool:
        return any(fnmatchcase(f"{folder}/", pattern) for pattern in self.skipped)

    def _fits(self, entry: os.DirEntry[str]) -> bool:
        if self.files_only and not entry.is_file(follow_symlinks=False):
            return False
        name = entry.name.lower()
        return not self.fitting or any(fnmatchcase(name, one) for one in self.fitting)


def piped_names(feed: Sequence[Step], reach: Reach) -> list[str] | None:
    """Return the names that could come out of these commands, a name a line; None: any text.

    Errors: ``NotInsideError`` where names would fall apart, or there are too many.
    """
    if not feed or not all(map(_is_filter, feed[1:])):
        return None
    first, values = feed[0], feed[0].values
    if any(word.is_pattern for word in first.arguments) or first.reads:
        return None
    match first.name:
        case "find":
            return found_names(values, reach)
        case "grep" | "rg":
            search = _text_search(first.name, values)
            return None if search is None else _checked(search.names(reach))
        case "git" if values[:1] == ["ls-files"]:
            return _tracked(values[1:], reach)
        case _:
            return None


def _tracked(pathspecs: Sequence[str], reach: Reach) -> list[str] | None:
    if any(one.startswith("-") for one in pathspecs):
        # With an option it could list something else.
        return None
    names = tracked_names(reach.folder, pathspecs)
    return None if names is None else _checked(names)


def found_names(arguments: Sequence[str], reach: Reach) -> list[str] | None:
    """Return the names that find could give; None: any text.

    Errors: ``NotInsideError`` where names would fall apart, or there are too many.
    """
    search = _find(arguments)
    return None if search is None else _checked(search.names(reach))


def _checked(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise NotInsideError("a file has a name that could be taken for several")
        found.append(name)
        if len(found) > _MAX_NAMES:
            raise NotInsideError("it names more files than can be checked")
    return found


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (NotADirectoryError, FileNotFoundError):
        return []


_FIND_SHOWS = frozenset({"-printf", "-ls"})
_FIND_PRINTS = frozenset({"-print", "-print0"})
_NOT = frozenset({"!", "-not"})
_OR = frozenset({"-o", "-or"})
_SKIPPED = re.compile(r"[\w./*-]+/\*")


def _find(arguments: Sequence[str]) -> _Search | None:
    places, tests = find_tests(arguments)
    given = [word for word, _ in tests]
    if _FIND_SHOWS & set(given):
        return None
    if _FIND_PRINTS & set(given[:-1]):
        # What is printed did not go through the tests behind that.
        return _Search(places)
    wanted: list[list[str]] = [[]]
    """The names of each alternative: where all have one, what is found fits one of them."""
    skipped: list[str] = []
    files_only = is_negated = False
    for word, value in tests:
        if word in _OR:
            wanted.append([])
        elif word in ("-name", "-iname") and not is_negated:
            wanted[-1].append(value.lower())
        elif word == "-path" and is_negated and _SKIPPED.fullmatch(value):
            skipped.append(value)
        elif (word, value) == ("-type", "f") and not is_negated:
            files_only = True
        is_negated = word in _NOT
    negates_group = any(one in _NOT and following == "(" for one, following in pairwise(given))
    has_names = all(wanted) and "," not in given and not negates_group
    fitting = [name for names in wanted for name in names] if has_names else []
    if {"(", ",", *_OR} & set(given):
        return _Search(places, fitting)
    return _Search(places, fitting, files_only, skipped)


_LISTS = words("-l --files-with-matches -L --files-without-match --files")
_LISTS_WITH = _LISTS | words("-i --ignore-case -w --word-regexp -F --fixed-strings -e --regexp -n "
                             "--line-number -s")  # fmt: skip
_SEARCHES = {
    "grep": _LISTS_WITH
    | words("-r --recursive -E --extended-regexp --include --exclude --exclude-dir"),
    "rg": _LISTS_WITH | words("-g --glob -t --type -T --type-not --hidden -S --smart-case"),
}
"""Options with which nothing but names comes out, where one of ``_LISTS`` is among them."""


def _text_search(program: str, values: Sequence[str]) -> _Search | None:
    parsed = parse(values, PROGRAMS[program].options)
    if not parsed.has(*_LISTS) or set(parsed.given) - _SEARCHES[program]:
        return None
    takes_pattern = not parsed.has("-e", "--regexp", "--files")
    globs = [one for name in ("-g", "--glob", "--include") for one in parsed.given.get(name, [])]
    are_plain = all(re.fullmatch(r"\*\.\w+", one) for one in globs)
    fitting = [one.lower() for one in globs] if are_plain else []
    return _Search(parsed.operands[int(takes_pattern) :] or ["."], fitting, files_only=True)


_FILTERS = {
    "head": words("-n --lines -number"),
    "tail": words("-n --lines -number"),
    "sort": words("-u --unique -r --reverse -n"),
    "uniq": frozenset[str](),
    "grep": words("-v --invert-match -i --ignore-case -E --extended-regexp -F"),
}
"""Options with which lines come out as they went in."""


def _is_filter(step: Step) -> bool:
    """Say whether lines come out of a command as they went in, some or all of them."""
    keeps = _FILTERS.get(step.name)
    if keeps is None or step.reads or any(word.is_pattern for word in step.arguments):
        return False
    parsed = parse(step.values, PROGRAMS[step.name].options)
    operands = 1 if step.name == "grep" else 0
    return not set(parsed.given) - keeps and len(parsed.operands) == operands
