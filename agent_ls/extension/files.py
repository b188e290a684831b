"""Where the files are that extend the agent, and how one is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.model_families import family_in
from agent_ls.extension.front_matter import plain_value, split_front
from agent_ls.loop.ports.workspace import Root
from agent_ls.processes.reading import read_beginning
from agent_ls.safety.made_files import is_undecided

T = TypeVar("T")
Kind = Literal["commands", "skills", "agents"]

_MAX_FILE_BYTES = 262_144
_MAX_FILES = 500
"""In one folder."""
_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class Place:
    """One folder with such files."""

    folder: Path
    top: Path | None = None
    """The workspace folder that it belongs to; None: the user's own."""
    is_foreign: bool = False
    """It has another agent's layout, so unknown keys mean nothing here and are left out."""


def places(
    kind: Kind, user_folder: Path, roots: Iterable[Root], claude_home: Path | None = None
) -> Iterator[Place]:
    """Yield the user's folders and those of trusted roots; a later one overrides an earlier one.

    ``claude_home`` is the user's ``~/.claude``; None: it is not read.
    """
    if claude_home is not None:
        yield Place(claude_home / kind, is_foreign=True)
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
    """Return the front matter and the stripped body of a file; a long one is cut, which it says.

    Errors: ``OSError``; ``ValueError`` says what is wrong.
    """
    if place.top is not None and not path.resolve().is_relative_to(place.top.resolve()):
        raise ValueError("it is a link that leads out of the folder")
    raw, size = read_beginning(path, max_bytes=_MAX_FILE_BYTES)
    front, body = split_front(_text(raw), is_lenient=place.is_foreign)
    if left_out := size - len(raw):
        body += f"\n\n(The rest of {path}, {left_out:,} bytes, is left out.)"
    return front, body


def only_known(head: Mapping[str, str], known: Iterable[str], place: Place) -> dict[str, str]:
    """Return the known keys of a front matter. Errors: ``ValueError`` for another key of ours."""
    keys = set(known)
    if not place.is_foreign and (unknown := sorted(head.keys() - keys)):
        raise ValueError(f"{', '.join(unknown)}: is not known")
    return {key: value for key, value in head.items() if key in keys}


def model_in(value: str, place: Place) -> str:
    """Return the model that a front matter names; of another agent's names only the family."""
    return family_in(value) if place.is_foreign else plain_value(value)


def callable_name(name: str) -> str:
    """Return a name as it can be typed behind a slash: with dashes for what is no letter or digit.

    Empty: nothing is left.
    """
    return re.sub(r"[^\w-]+", "-", name.strip()).strip("-")[:_MAX_NAME].rstrip("-")


def _text(raw: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    return raw.decode("utf-8", "replace")
