"""Facts about each language, from ``languages.toml``: file names, grammar, comment syntax.

An editor may use other language ids. Imports little, because the parsing process imports it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal, cast

from agent_ls.syntax.data import read_data


@dataclass(frozen=True, slots=True)
class Language:
    """One language in ``languages.toml``; the fields are explained there."""

    id: str
    aliases: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    wheel: str = ""
    function: str = "language"
    outline: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    block: tuple[tuple[str, str] | tuple[str, str, Literal["nested"]], ...] = ()
    strings: tuple[str | tuple[str, str], ...] = ('"', "'")
    escape: str = "\\"
    """One character or none."""
    comment_at: Literal["anywhere", "word", "line"] = "anywhere"
    or_else: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    instead: tuple[str, tuple[str, ...]] | None = None
    """Another language that the text may be in, since the file name is ambiguous, and patterns of
    lines that indicate it. ``choosing`` decides. Set by ``language_of``, not in the TOML file."""

    @property
    def has_comments(self) -> bool:
        """Tell whether the language has comments."""
        return bool(self.line or self.block)


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages, in the order of ``languages.toml``."""
    table = tomllib.loads(read_data("languages.toml"))
    return tuple(
        Language(id=name, **{key: _frozen(value) for key, value in facts.items()})
        for name, facts in table.items()
    )


def _frozen(value: Any) -> Any:
    """Convert lists in a TOML value to tuples."""
    return tuple(map(_frozen, cast("list[Any]", value))) if isinstance(value, list) else value


@cache
def _by_id() -> dict[str, Language]:
    found = {alias: one for one in languages() for alias in one.aliases}
    return found | {one.id: one for one in languages()}


def language_of(language_id: str = "", file_name: str = "") -> Language | None:
    """Return the language for an editor's id, else for a file name; None if unknown.

    If the id's language has no comments (as plain text), the file name wins.
    """
    name = PurePosixPath(file_name.replace("\\", "/")).name.lower()
    found = _by_id().get(language_id.lower())
    if found is None or not found.has_comments:
        found = _language_of_file(name) or found
    for pattern, other, signs in found.or_else if found else ():
        if found and fnmatchcase(name, pattern):
            return replace(found, instead=(other, signs))
    return found


@cache
def _patterns() -> tuple[dict[str, Language], dict[str, Language], dict[str, Language]]:
    """Return the file patterns: exact names, suffixes as in ``*.py``, and others."""
    exact: dict[str, Language] = {}
    ends: dict[str, Language] = {}
    others: dict[str, Language] = {}
    for one in languages():
        for pattern in map(str.lower, one.files):
            if not set(pattern) & set("*?["):
                exact.setdefault(pattern, one)
            elif pattern[:2] == "*." and not set(pattern[1:]) & set("*?["):
                ends.setdefault(pattern[1:], one)
            else:
                others.setdefault(pattern, one)
    return exact, ends, others


def _language_of_file(name: str) -> Language | None:
    """Return the language with the best match: an exact name, else the longest pattern."""
    exact, ends, others = _patterns()
    if name in exact:
        return exact[name]
    fitting = [(len(one), others[one]) for one in others if fnmatchcase(name, one)]
    at = name.find(".")
    while at >= 0:
        if name[at:] in ends:
            fitting.append((len(name) - at + 1, ends[name[at:]]))
            break
        at = name.find(".", at + 1)
    return max(fitting, key=lambda one: one[0])[1] if fitting else None
