"""Marker stories: text archives whose steps drive a real server through a real client.

A story has a reason, files (``-- file a.py --``), a ``-- scenario --`` for the scripted model,
``-- steps --``, and where needed ``-- settings --`` (the user's file), ``-- client --`` (TOML:
``editors``, ``folder``, ``trusted``, ``encodings``, ``edits``, ``options``, ``env``) and goldens
(``-- golden after.py --``).

A step is ``name(argument, …)``. An argument is a JSON value, a bare word, a place ``a.py:3``
(1-based, as editors count), or ``key=value``.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.archive import Archive, read_archive

_STEP = re.compile(r"(\w+)\((.*)\)\s*(?:#.*)?$")
_ARGUMENT = re.compile(
    r"""\s*(?:(?P<key>\w+)=)?(?:(?P<json>"(?:[^"\\]|\\.)*"|[\[{].*[\]}])|(?P<word>[^,]+?))\s*(?:,|$)"""
)
_PLACE = re.compile(r"(.+):(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Place:
    """Lines of a file, 0-based and inclusive."""

    path: str
    line: int
    last_line: int


@dataclass(frozen=True)
class Step:
    """One line of a story."""

    text: str
    name: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclass(frozen=True)
class Story:
    """A parsed story."""

    name: str
    archive: Archive
    steps: tuple[Step, ...]
    client: dict[str, Any] = field(default_factory=dict)

    @property
    def editors(self) -> list[str]:
        """Return the kinds of editors it is told for."""
        return list(self.client.get("editors", ["vscode", "neovim"]))


def read_story(path: Path) -> Story:
    """Return the story in a file; a step that cannot be read is an error with its text."""
    archive = read_archive(path)
    lines = archive.members["steps"].splitlines()
    steps = tuple(parse_step(line) for line in lines if line.strip() and not line.startswith("#"))
    client = tomllib.loads(archive.members.get("client", ""))
    return Story(path.stem, archive, steps, client)


def parse_step(line: str) -> Step:
    """Return the step in a line."""
    match = _STEP.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"not a step: {line!r}")
    arguments: list[Any] = []
    options: dict[str, Any] = {}
    at, rest = 0, match[2]
    while at < len(rest):
        found = _ARGUMENT.match(rest, at)
        if found is None or found.end() == at:
            raise ValueError(f"not an argument: {rest[at:]!r} in {line!r}")
        value = json.loads(found["json"]) if found["json"] else _word(found["word"])
        if found["key"]:
            options[found["key"]] = value
        else:
            arguments.append(value)
        at = found.end()
    return Step(line.strip(), match[1], tuple(arguments), options)


def _word(text: str) -> Any:
    place = _PLACE.fullmatch(text)
    if place is None:
        return text
    first = int(place[2]) - 1
    return Place(place[1], first, int(place[3]) - 1 if place[3] else first)
