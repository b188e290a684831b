"""Parses a program's arguments by a short specification of its options.

A specification lists options, separated by blanks:
``-abc`` three options without a value, ``--all`` a long one, ``-n:`` and ``--lines:`` with a text
value, ``-f@`` and ``--file@`` with a path, ``--color?`` with a value that only = can give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal


def words(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text; tables of names are written this way."""
    return frozenset(text.split())


Kind = Literal["bare", "text", "path", "optional"]

_KINDS: dict[str, Kind] = {":": "text", "@": "path", "?": "optional"}


class MustAskError(Exception):
    """A command is not plainly read-only; the message completes "it asks because"."""


@dataclass(frozen=True, slots=True)
class Options:
    """A parsed specification."""

    kinds: dict[str, Kind]
    takes_number: bool = False
    """Whether ``-5`` is an option."""


@dataclass(slots=True)
class Parsed:
    """A parsed command line."""

    given: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Values by option; an empty text for one without."""
    paths: list[str] = field(default_factory=list[str])
    """Values that are paths."""
    operands: list[str] = field(default_factory=list[str])

    def has(self, *names: str) -> bool:
        """Say whether any of these options was given."""
        return any(name in self.given for name in names)


def options(specification: str, *, takes_number: bool = False) -> Options:
    """Return the options that a specification lists."""
    kinds: dict[str, Kind] = {}
    for token in specification.split():
        kind: Kind = _KINDS.get(token[-1], "bare")
        name = token if kind == "bare" else token[:-1]
        if name.startswith("--") or kind != "bare":
            kinds[name] = kind
        else:
            kinds.update(dict.fromkeys((f"-{letter}" for letter in name[1:]), "bare"))
    return Options(kinds, takes_number)


def parse(arguments: Sequence[str], known: Options, *, stops: bool = False) -> Parsed:
    """Return the options and operands of a command line.

    ``stops``: everything after the first operand is an operand too, as for ``xargs``.

    Errors: ``MustAskError`` for an option that is not known, abbreviated or lacks its value.
    """
    parsed = Parsed()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            parsed.operands += rest
            break
        if argument == "-" or not argument.startswith("-"):
            parsed.operands += [argument, *rest] if stops else [argument]
            rest = [] if stops else rest
        elif argument.startswith("--"):
            _long(argument, rest, known, parsed)
        elif known.takes_number and re.fullmatch(r"-\d+", argument):
            parsed.given.setdefault("-number", []).append(argument)
        else:
            _short(argument, rest, known, parsed)
    return parsed


def _long(argument: str, rest: list[str], known: Options, parsed: Parsed) -> None:
    name, equals, value = argument.partition("=")
    kind = known.kinds.get(name)
    if kind is None or (kind == "bare" and equals):
        raise _unknown(argument)
    if kind in ("text", "path") and not equals:
        value = _next(argument, rest)
    _keep(name, kind, value, parsed)


def _short(argument: str, rest: list[str], known: Options, parsed: Parsed) -> None:
    """Read ``-abc``; only the last letter may have a value, attached or in the next argument."""
    for place, letter in enumerate(argument[1:], 1):
        name = f"-{letter}"
        kind = known.kinds.get(name)
        if kind is None:
            raise _unknown(argument)
        if kind != "bare":
            value = argument[place + 1 :]
            if not value and kind != "optional":
                value = _next(argument, rest)
            _keep(name, kind, value, parsed)
            return
        _keep(name, kind, "", parsed)


def _unknown(option: str) -> MustAskError:
    return MustAskError(f"it uses the option {option[:60]!r}, which is not known to only read")


def _next(argument: str, rest: list[str]) -> str:
    if not rest:
        raise _unknown(f"{argument} without its value")
    return rest.pop(0)


def _keep(name: str, kind: Kind, value: str, parsed: Parsed) -> None:
    parsed.given.setdefault(name, []).append(value)
    if kind == "path":
        parsed.paths.append(value)
