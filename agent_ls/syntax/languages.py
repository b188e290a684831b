"""What is known of each language: file names, grammar, comment syntax. Owns ``languages.toml``.

Knows nothing of editors: a language id is a word that an editor may or may not share. Imports
little, for a process that parses and does nothing else.
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
    """One language, as ``languages.toml`` describes it; the fields are explained there."""

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
    """The id of the language that a text may be in instead, as its file's name leaves that open,
    and the lines that are a sign of that; ``choosing`` says which it is. No field of the file."""

    @property
    def has_comments(self) -> bool:
        """Say whether anything can be commented in it."""
        return bool(self.line or self.block)


@cache
def languages() -> tuple[Language, ...]:
    """Return every known language, in the file's order."""
    table = tomllib.loads(read_data("languages.toml"))
    return tuple(
        Language(id=name, **{key: _frozen(value) for key, value in facts.items()})
        for name, facts in table.items()
    )


def _frozen(value: Any) -> Any:
    """Return a value as TOML gives it with tuples for lists."""
    return tuple(map(_frozen, cast("list[Any]", value))) if isinstance(value, list) else value


@cache
def _by_id() -> dict[str, Language]:
    found = {alias: one for one in languages() for alias in one.aliases}
    return found | {one.id: one for one in languages()}


def language_of(language_id: str = "", file_name: str = "") -> Language | None:
    """Return the language an editor's id or else a file's name stands for; None if unknown.

    Invariant: an id that says nothing (plain text, or none at all) does not hide a telling name.
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
    """Return what languages' files are called: exact names, ends as in ``*.py``, other patterns."""
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
    """Return the language whose pattern fits best: exact names first, then the longest pattern."""
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
