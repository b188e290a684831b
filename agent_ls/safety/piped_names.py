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
from agent_ls.safety.control_files import has_secret_name
from agent_ls.safety.flags import MustAskError, Parsed, parse, words
from agent_ls.safety.git_repository import tracked_names
from agent_ls.safety.operands import Reach, walk_folder
from agent_ls.safety.read_only import PROGRAMS
from agent_ls.safety.shell_walk import Step, expanded

_MAX_NAMES = 2_000
_PLAIN_NAME = re.compile(r"(?!-)[^\s'\"\\]+")
"""Names that xargs does not split or read as options."""
_PLAIN_PATTERN = re.compile(r"(?:[\w.*+-]|\[[A-Za-z0-9]+\])+")
"""Patterns that find and fnmatch read alike; they differ in escapes and in odd brackets."""


def piped_names(feed: Sequence[Step], reach: Reach) -> list[str] | None:
    """Return the file names these commands may print, one a line; None for other text.

    Errors: ``MustAskError`` if xargs would split a name, or if there are too many.
    """
    if not feed or not all(map(_is_filter, feed[1:])):
        return None
    first = feed[0]
    if first.reads:
        return None
    if first.name in ("grep", "rg"):
        return _searched_names(first.name, expanded(first.arguments, reach), reach)
    values = first.values
    if any(word.is_pattern for word in first.arguments):
        return None
    if first.name == "find":
        return found_names(values, reach)
    if first.name == "git" and values[:1] == ["ls-files"]:
        tracked = None if any(v.startswith("-") for v in values) else values[1:]
        names = (
            None
            if tracked is None
            else tracked_names(reach.folder, tracked, [one.path for one in reach.roots])
        )
        return None if names is None else _checked(names)
    return None


_PRUNED = re.compile(r"[\w./*-]+/\*")
"""Of a negated ``-path``: nothing below such a folder is shown."""


def found_names(
    arguments: Sequence[str], reach: Reach, *, are_split: bool = True
) -> list[str] | None:
    """Return the names that find may print; None if it may print other text.

    ``are_split``: a program will read the names from text, so a blank would part one.
    Errors: ``MustAskError`` if xargs would split a name, or if there are too many.
    """
    places, tests = find_tests(arguments)
    given = [word for word, _ in tests]
    if any("name" in word or "path" in word for word, value in tests if _asks_for_secret(value)):
        raise MustAskError("it looks for files that hold secrets")
    if {"-printf", "-ls"} & set(given):
        return None
    pairs = list(zip(["", *given], tests, strict=False))
    is_odd = any(before in ("!", "-not") and word == "(" for before, (word, _) in pairs)
    if is_odd or "," in given or {"-print", "-print0"} & set(given[:-1]):
        # With these, a test does not apply to every name.
        return _checked(_names_below(places, reach), are_split=are_split)
    choices = _choices(pairs)
    pruned = [
        value
        for before, (word, value) in pairs
        if before in ("!", "-not") and word == "-path" and _PRUNED.fullmatch(value)
    ]
    files_only = all(("-type", "f") in tests for tests in choices)
    names = _names_below(
        places,
        reach,
        [[value.lower() for word, value in one if word in _NAME_TESTS] for one in choices],
        files_only=files_only,
        # Below ``./`` one find shows ``./x`` and another ``.//x``.
        pruned=pruned if len(choices) == 1 and not any(p.endswith("/") for p in places) else (),
    )
    return _checked(names, are_split=are_split)


def _asks_for_secret(pattern: str) -> bool:
    return has_secret_name(pattern.strip("*/").split("/"))


_NAME_TESTS = ("-name", "-iname")


def _choices(pairs: Sequence[tuple[str, tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    """Return the tests between each two -o: every name found meets all of one choice, or of more.

    Parentheses may be left out: the tests beside one still stand in a row with one side of an -o.
    Negated tests are dropped, and so are patterns that fnmatch may read otherwise.
    """
    choices: list[list[tuple[str, str]]] = [[]]
    for before, (word, value) in pairs:
        if word in ("-o", "-or"):
            choices.append([])
        elif before not in ("!", "-not") and (
            word not in _NAME_TESTS or _PLAIN_PATTERN.fullmatch(value)
        ):
            choices[-1].append((word, value))
    return choices


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
    places = parsed.operands[int(takes_pattern) :]
    if not places and program == "grep" and not parsed.has("-r", "--recursive"):
        return None
    endings = included_endings(parsed)
    return _checked(
        _names_below(places or ["."], reach, [[f"*{one}"] for one in endings], files_only=True)
    )


def included_endings(parsed: Parsed) -> tuple[str, ...]:
    """Return the file endings that grep's or rg's options select; ``("",)`` for any file."""
    given = parsed.given
    globs = [*given.get("-g", []), *given.get("--glob", [])]
    # Of rg, one that begins with ``!`` only leaves files out.
    included = [*given.get("--include", []), *(one for one in globs if one[:1] != "!")]
    is_plain = all(re.fullmatch(r"\*\.\w+", one) for one in included)
    if not included or not is_plain or parsed.has("--exclude", "--iglob"):
        return ("",)
    return tuple(one[1:] for one in included)


def _names_below(
    places: Sequence[str],
    reach: Reach,
    choices: Sequence[Sequence[str]] = ((),),
    *,
    files_only: bool = False,
    pruned: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the files and folders below these places, and the places.

    Their names match all patterns of one choice, ignoring case.
    """

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
            name = entry.name.lower()
            if is_wanted and any(all(fnmatchcase(name, one) for one in fit) for fit in choices):
                yield f"{place}/{'/'.join(below)}"


def _checked(names: Iterable[str], *, are_split: bool = True) -> list[str]:
    found: list[str] = []
    for name in names:
        if are_split and not _PLAIN_NAME.fullmatch(name):
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
