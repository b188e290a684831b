"""Which files a pipe could name: for programs that take the names of files from another one.

What is said is never too little: every name that could come, as the disk is now. Where that cannot
be said, nothing is.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.safety.flags import UnknownOptionError, parse, words
from agent_ls.safety.git_repository import tracked_names
from agent_ls.safety.operands import NotInsideError, Reach
from agent_ls.safety.programs import child_path
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
    """Patterns, of which a name fits one; of all names when there is none."""
    ignores_case: bool = False
    files_only: bool = False
    skipped: frozenset[str] = frozenset()
    """Names of folders that are not shown."""

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
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder and entry.name in self.skipped:
                        continue
                    name = f"{folder}/{entry.name}"
                    if is_folder:
                        stack.append(name)
                    if self._fits(entry):
                        yield name

    def _fits(self, entry: os.DirEntry[str]) -> bool:
        if self.files_only and not entry.is_file(follow_symlinks=False):
            return False
        name = entry.name.lower() if self.ignores_case else entry.name
        return not self.fitting or any(fnmatch.fnmatchcase(name, one) for one in self.fitting)


def piped_names(feed: Sequence[Step], reach: Reach) -> list[str] | None:
    """Return the names that could come out of these commands, a name a line; None: any text.

    Errors: ``NotInsideError`` where names would fall apart, or there are too many.
    """
    if not feed or not all(map(_is_filter, feed[1:])):
        return None
    first = feed[0]
    values = first.values
    if any(word.is_pattern for word in first.arguments) or first.reads:
        return None
    try:
        match first.name:
            case "find":
                return found_names(values, reach)
            case "rg":
                return _checked(_ripgrep(values).names(reach))
            case "grep":
                return _checked(_grep(values).names(reach))
            case "git":
                return _git(values, reach)
            case _:
                return None
    except (UnknownOptionError, _NotKnownError):
        return None


def found_names(arguments: Sequence[str], reach: Reach) -> list[str]:
    """Return the names that find could give.

    Errors: ``NotInsideError`` where names would fall apart, or there are too many.
    """
    return _checked(_find(arguments).names(reach))


def _checked(names: Iterator[str]) -> list[str]:
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


class _NotKnownError(Exception):
    """What comes out are not just names."""


_FIND_SHOWS = frozenset({"-printf", "-ls", "-fprint", "-quit", "-depth", "-d"})
_SKIPPED = re.compile(r"(?:\*|\.)/([\w.-]+)/\*")


def _find(arguments: Sequence[str]) -> _Search:
    places: list[str] = []
    rest = [one for one in arguments if one != "-P"]
    while rest and not rest[0].startswith(("-", "(", "!", ",")):
        places.append(rest.pop(0))
    if _FIND_SHOWS & set(rest):
        raise _NotKnownError
    positive, skipped = list[str](), set[str]()
    alternatives = [0]
    is_mixed = bool({",", "("} & set(rest))
    negated = False
    for place, word in enumerate(rest):
        value = rest[place + 1] if place + 1 < len(rest) else ""
        if word in ("-o", "-or"):
            alternatives.append(0)
        elif word in ("-name", "-iname") and not negated:
            positive.append(value)
            alternatives[-1] += 1
        elif word in ("-path", "-wholename") and negated and (name := _SKIPPED.fullmatch(value)):
            skipped.add(name[1])
        negated = word in ("!", "-not")
    is_negated_group = any(
        one in ("!", "-not") and rest[n + 1 : n + 2] == ["("] for n, one in enumerate(rest)
    )
    limits = all(alternatives) and "," not in rest and not is_negated_group
    is_one = len(alternatives) == 1 and not is_mixed
    return _Search(
        places or ["."],
        fitting=[one.lower() for one in positive] if limits else (),
        ignores_case=True,
        files_only=is_one and "f" in _value_of("-type", rest),
        skipped=frozenset(skipped) if is_one else frozenset(),
    )


def _value_of(option: str, rest: Sequence[str]) -> list[str]:
    """Return the values of a test that is not negated."""
    return [
        rest[n + 1]
        for n, one in enumerate(rest[:-1])
        if one == option and (n == 0 or rest[n - 1] not in ("!", "-not"))
    ]


_LISTS = words("-l --files-with-matches -L --files-without-match --files")
_GREP_KEEPS = _LISTS | words(
    "-r --recursive -i --ignore-case -w --word-regexp -x -v -E --extended-regexp -F "
    "--fixed-strings -P --perl-regexp -G -I -s --no-messages -e --regexp --include --exclude "
    "--exclude-dir -n --line-number"
)
_RIPGREP_KEEPS = words(
    "-l --files-with-matches --files-without-match --files -i --ignore-case -w --word-regexp -S "
    "--smart-case -s -F --fixed-strings -e --regexp -g --glob -t --type -T --type-not --hidden "
    "-n --line-number --no-ignore -U --multiline -P --pcre2"
)


def _grep(values: Sequence[str]) -> _Search:
    parsed = parse(values, PROGRAMS["grep"].options)
    if not parsed.has("-l", "-L", "--files-with-matches", "--files-without-match"):
        raise _NotKnownError
    if set(parsed.given) - _GREP_KEEPS:
        raise _NotKnownError
    places = parsed.operands[0 if parsed.has("-e", "--regexp") else 1 :]
    included = parsed.given.get("--include", [])
    # A file that is named is looked at whatever is included.
    return _Search(places or _here(), fitting=included, files_only=True)


def _here() -> list[str]:
    return ["."]


def _ripgrep(values: Sequence[str]) -> _Search:
    parsed = parse(values, PROGRAMS["rg"].options)
    lists = parsed.has("-l", "--files", "--files-with-matches", "--files-without-match")
    if not lists or set(parsed.given) - _RIPGREP_KEEPS:
        raise _NotKnownError
    takes_pattern = not parsed.has("-e", "--regexp", "--files")
    globs = parsed.given.get("-g", []) + parsed.given.get("--glob", [])
    plain = [one for one in globs if re.fullmatch(r"\*\.\w+", one)]
    fitting = plain if len(plain) == len(globs) else []
    return _Search(parsed.operands[int(takes_pattern) :] or _here(), fitting, files_only=True)


_TRACKED = words("-c --cached -m --modified")


def _git(values: Sequence[str], reach: Reach) -> list[str] | None:
    """Names of the index, which need not be those on the disk."""
    if not values or values[0] != "ls-files":
        return None
    places = [one for one in values[1:] if one not in _TRACKED and one != "--"]
    if any(one.startswith(("-", ":", "/")) or ".." in one for one in places):
        return None
    names = tracked_names(reach.folder, child_path())
    if names is None:
        return None
    return _checked(one for one in names if not places or _is_picked(one, places))


def _is_picked(name: str, places: Sequence[str]) -> bool:
    """Say whether a pathspec could pick a name; said too often rather than too seldom."""
    return any(
        not re.fullmatch(r"\*\.\w+", place) or fnmatch.fnmatchcase(name, place) for place in places
    )


def _is_filter(step: Step) -> bool:
    """Say whether lines come out of a command as they went in, some or all of them."""
    if step.reads or any(word.is_pattern for word in step.arguments):
        return False
    known = PROGRAMS.get(step.name)
    if known is None or step.name not in ("head", "tail", "sort", "uniq", "grep", "egrep", "cat"):
        return False
    try:
        parsed = parse(step.values, known.options)
    except UnknownOptionError:
        return False
    keeps = _FILTER_KEEPS[step.name.removeprefix("e")]
    patterns = step.name.endswith("grep") and not parsed.has("-e", "--regexp")
    return not set(parsed.given) - keeps and len(parsed.operands) == int(patterns)


_FILTER_KEEPS = {
    "head": words("-n --lines -number"),
    "tail": words("-n --lines -number"),
    "sort": words("-u --unique -r --reverse -n -V -f"),
    "uniq": words("-i"),
    "grep": words("-v --invert-match -i --ignore-case -E --extended-regexp -F -w -e --regexp -P"),
    "cat": frozenset[str](),
}
