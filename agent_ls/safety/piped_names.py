"""Finds the file names that a pipe may pass to xargs, or find to its -exec program.

The result holds every name that could come, as the disk is now, and perhaps more. It is None if
the names cannot be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial

from agent_ls.safety.closer_looks import find_tests
from agent_ls.safety.flags import MustAskError, parse, words
from agent_ls.safety.git_repository import tracked_names
from agent_ls.safety.operands import Reach, walk_folder
from agent_ls.safety.read_only import PROGRAMS
from agent_ls.safety.shell_walk import Step

_MAX_NAMES = 2_000
_PLAIN_NAME = re.compile(r"(?!-)[^\s'\"\\]+")
"""Names that xargs does not split or read as options."""
_PLAIN_PATTERN = re.compile(r"[\w.*+-]+")
"""Patterns that find and fnmatch read alike; they differ in brackets and escapes."""


def piped_names(feed: Sequence[Step], reach: Reach) -> list[str] | None:
    """Return the file names these commands may print, one a line; None for other text.

    Errors: ``MustAskError`` if xargs would split a name, or if there are too many.
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
            return _searched_names(first.name, values, reach)
        case "git" if values[:1] == ["ls-files"] and not any(v.startswith("-") for v in values):
            tracked = tracked_names(reach.folder, values[1:])
            return None if tracked is None else _checked(tracked)
        case _:
            return None


_PRUNED = re.compile(r"[\w./*-]+/\*")
"""Of a negated ``-path``: nothing below such a folder is shown."""


def found_names(arguments: Sequence[str], reach: Reach) -> list[str] | None:
    """Return the names that find may print; None if it may print other text.

    Errors: ``MustAskError`` if xargs would split a name, or if there are too many.
    """
    places, tests = find_tests(arguments)
    given = [word for word, _ in tests]
    if {"-printf", "-ls"} & set(given):
        return None
    if {"(", ",", "-o", "-or"} & set(given) or {"-print", "-print0"} & set(given[:-1]):
        # With these, a test does not apply to every name.
        return _checked(_names_below(places, reach))
    pairs = list(zip(["", *given], tests, strict=False))
    narrow = [test for before, test in pairs if before not in ("!", "-not")]
    pruned = [
        value
        for before, (word, value) in pairs
        if before in ("!", "-not") and word == "-path" and _PRUNED.fullmatch(value)
    ]
    named = [value for word, value in narrow if word in ("-name", "-iname")]
    fitting = [value for value in named if _PLAIN_PATTERN.fullmatch(value)]
    files_only = ("-type", "f") in narrow
    return _checked(_names_below(places, reach, fitting, files_only=files_only, pruned=pruned))


_LISTS = words("-l --files-with-matches -L --files-without-match --files")
_SEARCH = _LISTS | words(
    "-i --ignore-case -w --word-regexp -F --fixed-strings -e --regexp -n --line-number -s -E "
    "--include --exclude --exclude-dir -g --glob -t --type -T --type-not --hidden -S --smart-case"
)
"""Options that keep the output a list of names, if one of ``_LISTS`` is given."""


def _searched_names(program: str, values: Sequence[str], reach: Reach) -> list[str] | None:
    """Return the names that a search may list; None if it may print other text."""
    known = _SEARCH | (words("-r --recursive") if program == "grep" else frozenset[str]())
    parsed = parse(values, PROGRAMS[program].options)
    if not parsed.has(*_LISTS) or set(parsed.given) - known:
        return None
    takes_pattern = not parsed.has("-e", "--regexp", "--files")
    places = parsed.operands[int(takes_pattern) :] or ["."]
    return _checked(_names_below(places, reach, files_only=True))


def _names_below(
    places: Sequence[str],
    reach: Reach,
    fitting: Sequence[str] = (),
    *,
    files_only: bool = False,
    pruned: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the files and folders below these places that match all patterns, and the places."""

    def is_walked(place: str, below: tuple[str, ...]) -> bool:
        path = f"{place}/{'/'.join(below)}/"
        return not any(fnmatchcase(path, one) for one in pruned)

    for place in places:
        top = reach.folder / place
        if not files_only or not top.is_dir():
            yield place
        walked = (
            walk_folder(top, skipped=frozenset(), is_walked=partial(is_walked, place))
            if top.is_dir()
            else ()
        )
        for entry, below in walked:
            is_wanted = entry.is_file(follow_symlinks=False) or not files_only
            if is_wanted and all(fnmatchcase(entry.name.lower(), one.lower()) for one in fitting):
                yield f"{place}/{'/'.join(below)}"


def _checked(names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise MustAskError("a file has a name that could be taken for several")
        found.append(name)
        if len(found) > _MAX_NAMES:
            raise MustAskError("it names more files than can be checked")
    return found


_FILTERS = {
    "head": words("-n --lines -number"),
    "tail": words("-n --lines -number"),
    "sort": words("-u --unique -r --reverse -n"),
    "uniq": frozenset[str](),
    "grep": words("-v --invert-match -i --ignore-case -E --extended-regexp -F"),
}
"""Options with which a filter passes lines on unchanged."""


def _is_filter(step: Step) -> bool:
    """Say whether a command prints only lines of its input, unchanged."""
    keeps = _FILTERS.get(step.name)
    if keeps is None or step.reads or any(word.is_pattern for word in step.arguments):
        return False
    parsed = parse(step.values, PROGRAMS[step.name].options)
    operands = 1 if step.name == "grep" else 0
    return not set(parsed.given) - keeps and len(parsed.operands) == operands
