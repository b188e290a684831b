"""The one reader of patterns for paths: of the tools ``glob`` and ``grep``, and of rules.

Patterns are those of ``.gitignore``, and what users and models write besides: braces, ``(a|b)``,
several patterns with commas, ``!`` for what is left out, and names with brackets such as
``app/[slug]``, which many frameworks have. A bracket is read as a class of characters and as a
name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

import bracex
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_MAX_SPELLINGS = 300
_MAX_READ = 6
_WILD = re.compile(r"(?<!\\)(?:[*?\[{]|\([^()/]*\|)")
_ALTERNATIVES = re.compile(r"@?\(([^()/]*\|[^()/]*)\)")
_BRACKETS = re.compile(r"\\.|(?P<group>\[\[[^\[\]/]+\]\]|\[[^\[\]/]+\])")
_NAME = re.compile(r"\[\[?(?![!^]|(?:\w-\w)+\w*\])")
"""Begins a group that is no class with ranges, such as ``[a-z0-9]``, and none that is negated."""
_BELOW = "(?:(?P<ps_d>/)|$)"
"""How pathspec says that a pattern also covers what is below a folder."""
_SPECIAL = re.compile(r"\\.|[\[\](){}:|]")
_BRACES = re.compile(r"(?<!\\)\{[^{}]*\}")
_NOTHING = "(?!)"


@dataclass(frozen=True, slots=True)
class PathPattern:
    """One or several patterns, read from one text."""

    text: str
    folder: str = ""
    """Where the patterns count from, besides the top: a path without a final slash."""
    tops: tuple[tuple[str, str], ...] = ()
    """The workspace's folders: the absolute path of each, and its name if there are several.
    Patterns count from each of them."""
    is_strict: bool = False
    """For allowances: no lists, and a group of letters that is a name is nothing else."""
    is_wide: bool = False
    """For denials and questions: no lists, and what cannot be read in full covers more, not less.
    """
    has_names: bool = False
    """A group of letters in brackets that is a name is nothing else, as with ``is_strict``."""
    is_cased: bool = True
    spellings: tuple[str, ...] = field(init=False)
    """What is looked for, each with one meaning; empty: everything that is not left out."""
    left_out: tuple[str, ...] = field(init=False)
    """What is left out of that."""

    def __post_init__(self) -> None:
        is_one = self.is_strict or self.is_wide
        parts = [self.text.strip()] if is_one else patterns_of(self.text)
        parts = [part for part in parts if part.strip("!/. ")]
        if self.is_strict and parts and parts[0].startswith("!"):
            parts = []
        wanted = [part for part in parts if not part.startswith("!")]
        left_out = [part[1:] for part in parts if part.startswith("!")]
        object.__setattr__(self, "spellings", self._spelled(wanted))
        object.__setattr__(self, "left_out", self._spelled(left_out))

    @property
    def is_empty(self) -> bool:
        """Say whether the text names nothing, so that no file fits."""
        return not (self.spellings or self.left_out)

    def matches(self, name: str) -> bool:
        """Say whether a path relative to the workspace fits."""
        return bool(self.filter((name,)))

    def filter(self, names: Iterable[str], *, also_below: bool = False) -> list[str]:
        """Return the paths that fit.

        Shape: as for shells and editors, ``src/*`` is not what is deeper below ``src``. With
        ``also_below`` it is, as in ``.gitignore``.
        """
        if self.is_empty:
            return []
        flags = re.NOFLAG if self.is_cased else re.IGNORECASE
        found = list(names)
        if self.spellings:
            is_wanted = self._test(_compiled(self.spellings, also_below, flags))
            exact = {self._from_here(self.text), self.text}
            found = [name for name in found if is_wanted(name) or name in exact]
        if self.left_out:
            is_left_out = self._test(_compiled(self.left_out, True, flags))
            found = [name for name in found if not is_left_out(name)]
        return found

    def settled(self, names: Sequence[str]) -> PathPattern:
        """Return the pattern with brackets as names, if one of these paths has such names."""
        by_name = replace(self, has_names=True)
        return by_name if by_name.filter(names) else self

    @property
    def is_open(self) -> bool:
        """Say whether brackets may be names or not, which only the files can tell."""
        return replace(self, has_names=True).spellings != self.spellings

    @property
    def reading(self) -> str:
        """Return how the text was read, for whoever wrote it."""
        wanted = list(dict.fromkeys(map(unquoted, self.spellings)))
        text = ", ".join(wanted[:_MAX_READ]) or "every file"
        if len(wanted) > _MAX_READ:
            text += f" and {len(wanted) - _MAX_READ} more"
        if len(wanted) < len(self.spellings):
            text += " (brackets as one character, or as a name)"
        if self.left_out:
            text += (
                f", but not {', '.join(dict.fromkeys(map(unquoted, self.left_out[:_MAX_READ])))}"
            )
        return text

    @property
    def endings(self) -> tuple[str, ...]:
        """Return simple patterns, one of which fits the name of every file that fits.

        Shape: only ``*``, ``?`` and plain characters; empty if any name may fit.
        """
        found: set[str] = set()
        for one in self.spellings:
            last = one.rpartition("/")[2]
            parts = _SPECIAL.split(last)
            ending = parts[-1] if len(parts) == 1 else f"*{parts[-1].lstrip('*')}"
            # A name without a star may be that of a folder, such as conf.d.
            if not ending.strip("*") or "*" not in last:
                return ()
            found.add(ending)
        return tuple(sorted(found))

    def _test(self, compiled: re.Pattern[str]) -> Callable[[str], object]:
        """Return what says whether a path fits, seen from the top or where patterns count from."""
        search = compiled.search
        named = (self.folder, *(top for _, top in self.tops))
        fronts = [f"{one}/" for one in dict.fromkeys(named) if one]
        if not fronts:
            # The search itself, without a call of ours for each of 100,000 names.
            return search

        def fits(name: str) -> bool:
            return bool(search(name)) or any(
                name.startswith(front) and search(name[len(front) :]) for front in fronts
            )

        return fits

    def _spelled(self, parts: Iterable[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for part in parts:
            found |= dict.fromkeys(_expanded(self._from_here(part), self))
        return tuple(found)

    def _from_here(self, part: str) -> str:
        """Return a pattern that is absolute or begins with dots as one from the top."""
        for place, top in self.tops:
            if part.startswith(f"{place}/"):
                return f"/{top}{'/' if top else ''}{part[len(place) + 1 :]}"
        if "/" not in part and re.search(r"[\w.]\\[\w.]", part):
            # As Windows separates folders.
            part = part.replace("\\", "/")
        if not part.startswith(("./", "../")):
            return part
        ending = "/" if part.endswith("/") else ""
        return "/" + posixpath.normpath(f"/{self.folder}/{part}").lstrip("/") + ending


def plain_start(pattern: str) -> tuple[str, str]:
    """Return the folders that a pattern begins with and that have no wildcard, and the rest."""
    parts = pattern.split("/")
    count = next((at for at, one in enumerate(parts[:-1]) if _WILD.search(one)), len(parts) - 1)
    return "/".join(parts[:count]), "/".join(parts[count:])


def is_plain(pattern: str) -> bool:
    """Say whether a pattern has no wildcard, so that it can only be one path."""
    return not _WILD.search(pattern)


def unquoted(pattern: str) -> str:
    """Return a pattern without backslashes: a path, if it has no wildcard."""
    return re.sub(r"\\(.)", r"\1", pattern)


def quoted(path: str, *, but: str = "") -> str:
    """Return the pattern that only this path fits; the signs in ``but`` keep their meaning."""
    return "".join(f"\\{one}" if one in r"\*?[]{}()!|," and one not in but else one for one in path)


def patterns_of(text: str) -> list[str]:
    """Return the patterns of a list: by commas, by blanks if each is certainly a pattern."""
    text = text.strip()
    by_blank = text.split()
    if len(by_blank) > 1 and all(one.startswith("!") or _WILD.search(one) for one in by_blank):
        return [piece for one in by_blank for piece in _by_comma(one)]
    return _by_comma(text)


def _by_comma(text: str) -> list[str]:
    if "," not in text:
        return [text]
    pieces = [one.strip() for one in re.split(r",", _hidden(text))]
    return [one.replace("\0", ",") for one in pieces if one]


def _hidden(text: str) -> str:
    """Return a text with null characters for the commas that separate no patterns."""
    depth, is_escaped = 0, False
    found: list[str] = []
    for character in text:
        if not is_escaped:
            depth += (character in "{[(") - (character in "}])" and depth > 0)
        found.append("\0" if character == "," and (depth or is_escaped) else character)
        is_escaped = character == "\\" and not is_escaped
    return text if depth else "".join(found)


def _expanded(pattern: str, reader: PathPattern) -> list[str]:
    """Return the spellings of a pattern: of its braces, and of brackets as classes and as names."""
    pattern = _ALTERNATIVES.sub(lambda one: "{" + one[1].replace("|", ",") + "}", pattern)

    def spelled(found: re.Match[str]) -> str:
        group = found["group"]
        if group is None or re.search(r"[,{}]", group):
            return found[0]
        name = group.replace("[", r"\[").replace("]", r"\]")
        before, after = pattern[: found.start()][-1:], pattern[found.end() :][:1]
        stands_alone = before in ("", *"/{,") and after in ("", *"/.},")
        is_name = stands_alone and bool(_NAME.match(group))
        if reader.is_wide and _compiled((group,), False, re.NOFLAG).pattern == _NOTHING:
            # No class, such as [z-a] or [user-id], of which the second is a name.
            return name if is_name else "*"
        if group.startswith("[[") or (is_name and (reader.has_names or reader.is_strict)):
            return name
        return group if reader.is_strict else f"{{{group},{name}}}"

    found = _braced(_BRACKETS.sub(spelled, pattern))
    if reader.is_wide:
        return found or [_widened(pattern)]
    return found or _braced(pattern) or [pattern]


def _braced(pattern: str) -> list[str]:
    """Return what braces make of a pattern; empty if there are too many."""
    try:
        return [
            one for one in bracex.expand(pattern, keep_escapes=True, limit=_MAX_SPELLINGS) if one
        ]
    except bracex.ExpansionLimitException:
        return []


def _widened(pattern: str) -> str:
    """Return a pattern with ``*`` for braces and brackets, which covers at least the same files."""
    pattern = _BRACKETS.sub(lambda one: "*" if one["group"] else one[0], pattern)
    while found := _BRACES.search(pattern):
        if "/" in found[0]:
            # A star stands for one name, and these braces for several.
            return f"{pattern[: pattern.index('{')].rpartition('/')[0]}/**"
        pattern = f"{pattern[: found.start()]}*{pattern[found.end() :]}"
    return pattern


@lru_cache(maxsize=1_000)
def _compiled(spellings: Sequence[str], also_below: bool, flags: re.RegexFlag) -> re.Pattern[str]:
    """Return one expression that finds any of the patterns."""
    sources: list[str] = []
    for one in spellings:
        # A leading sign of .gitignore is part of a name here; what begins with it was read before.
        plain = re.sub(r"^[!#]", r"\\\g<0>", one)
        # An opening bracket in a class would be read as a set in a set by a later Python.
        plain = re.sub(r"(?<!\\)\[\[", r"[\\[", plain)
        source = None
        with suppress(ValueError):
            source = GitIgnoreSpecPattern.pattern_to_regex(plain)[0]
        if source is None:
            # A bracket that nothing closes, or a backslash at the end, is one of a name.
            source = GitIgnoreSpecPattern.pattern_to_regex(quoted(one, but="*?"))[0] or _NOTHING
        is_exact = not also_below and "*" in one.rstrip("/").rpartition("/")[2]
        source = source.replace(_BELOW, "$" if is_exact else "(?:/|$)").replace("?P<ps_d>", "?:")
        try:
            # A class such as [z-a] is none.
            re.compile(source, flags)
        except re.error:
            continue
        sources.append(f"(?:{source})")
    return re.compile("|".join(sources) or _NOTHING, flags | re.DOTALL)
