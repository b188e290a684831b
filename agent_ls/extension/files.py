"""Where the files are that extend the agent, and how one is read.

A file is front matter between two lines of ``---``, then the body. The front matter is ``key:
value``, a list of ``- item`` lines, or a text that is indented below ``key: >``. It is no YAML:
other agents' files hold values such as ``argument-hint: [file] [line]``, which YAML refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from agent_ls.domain.mistakes import mistakes_said
from agent_ls.loop.calls.other_agents import name_here
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_file
from agent_ls.safety.made_files import is_undecided

T = TypeVar("T")
Kind = Literal["commands", "skills", "agents"]

_FENCE = "---"
_MAX_FILE_BYTES = 65_536
_MAX_FILES = 500
"""In one folder."""
_TOOL = re.compile(r"[^\s,()\[\]]+(?:\([^)]*\))?")


@dataclass(frozen=True, slots=True)
class Place:
    """One folder with such files."""

    folder: Path
    top: Path | None = None
    """The workspace folder that it belongs to; None: the user's own."""
    is_foreign: bool = False
    """It has another agent's layout, so unknown keys mean nothing here and are left out."""


def places(kind: Kind, user_folder: Path, roots: Iterable[Root]) -> Iterator[Place]:
    """Yield the user's folder and those of trusted roots; a later one overrides an earlier one."""
    yield Place(user_folder / kind)
    for root in roots:
        if root.is_trusted:
            yield Place(root.path / ".claude" / kind, root.path, is_foreign=True)
            yield Place(root.path / ".agent-ls" / kind, root.path)


def read_all(
    found: Iterable[Place], pattern: str, read: Callable[[Path, Place], T]
) -> Iterator[tuple[Path, Place, T | str]]:
    """Yield each file with what ``read`` makes of it, or with what is wrong with it.

    What a command made and the user has not kept is left out.
    """
    for place in found:
        # Sorted only after the cut, because a folder may hold any number of files.
        for path in sorted(islice(place.folder.glob(pattern), _MAX_FILES)):
            if place.top is not None and is_undecided(path):
                continue
            try:
                yield path, place, read(path, place)
            except ValidationError as error:
                yield path, place, mistakes_said(error)
            except (OSError, ValueError) as error:
                yield path, place, str(error)


def read_parts(path: Path, place: Place) -> tuple[dict[str, str], str]:
    """Return the front matter and the stripped body of a file; a list is joined with commas.

    Errors: ``OSError``; ``ValueError`` says what is wrong.
    """
    if place.top is not None and not path.resolve().is_relative_to(place.top.resolve()):
        raise ValueError("it is a link that leads out of the folder")
    text = read_file(path, max_bytes=_MAX_FILE_BYTES).decode("utf-8")
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return {}, text.strip()
    end = next((at for at, line in enumerate(lines) if at and line.strip() == _FENCE), None)
    if end is None:
        raise ValueError("its front matter has no end: a second line of ---")
    return _front(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def only_known(head: Mapping[str, str], known: Iterable[str], place: Place) -> dict[str, str]:
    """Return the known keys of a front matter. Errors: ``ValueError`` for another key of ours."""
    keys = set(known)
    if not place.is_foreign and (unknown := sorted(head.keys() - keys)):
        raise ValueError(f"{', '.join(unknown)}: is not known")
    return {key: value for key, value in head.items() if key in keys}


def tools_in(value: str, *, is_foreign: bool) -> tuple[str, ...]:
    """Return the tools of a list, separated by commas or blanks.

    Another agent's ``Bash(git add:*)`` becomes ``run_command``: mode and rules decide what it runs.
    """
    names = (one.partition("(")[0].strip("\"'") for one in _TOOL.findall(value))
    return tuple(dict.fromkeys((is_foreign and name_here(name)) or name for name in names))


def _front(lines: Iterable[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    key = ""
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_below = line[0].isspace() or line.startswith("- ")
        if key and is_below:
            item = line.strip()
            is_item = item.startswith("- ")
            joint = ", " if is_item else " "
            item = _unquoted(item.removeprefix("- "))
            values[key] = f"{values[key]}{joint}{item}" if values[key] else item
            continue
        key, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"its line {line!r} is no “key: value”")
        key, value = key.strip(), value.strip()
        values[key] = "" if re.fullmatch(r"[>|][+-]?", value) else _unquoted(value)
    return values


def _unquoted(value: str) -> str:
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value
