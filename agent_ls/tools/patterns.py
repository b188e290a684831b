"""Patterns for names as the tools read them, and what is said of one that fits no file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz, process

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.path_patterns import PathPattern, is_plain, plain_start, unquoted
from agent_ls.safety.text import visible_line

_MAX_NEAR = 5
_MIN_LIKENESS = 75
_ANY_NAME = ("", "*", "**", "*.*")


async def read_pattern(
    text: str, folder: str, workspace: Workspace, files: Sequence[str] | None = None
) -> PathPattern:
    """Return the pattern that a call gives for files below a folder.

    Shape: ``files`` are those below the folder; None: they are listed if they have to be known.
    Errors: ``ToolError`` if it names nothing.
    """
    roots = workspace.roots
    tops = tuple((str(one.path), one.name if len(roots) > 1 else "") for one in roots)
    if text.startswith("/") and not text.startswith(tuple(f"{place}/" for place, _ in tops)):
        text = await asyncio.to_thread(_through_links, text, workspace)
    below = _named(folder, workspace)
    pattern = PathPattern(text, folder="" if below == "." else below, tops=tops)
    if pattern.is_empty:
        raise ToolError(
            f"{text!r} is not a file pattern. Give one such as *.py or src/**.",
            ErrorKind.STRUCTURAL,
        )
    if not pattern.is_open:
        return pattern
    if files is None:
        try:
            files = await workspace.files(folder)
        except WorkspaceError:
            return pattern
    return await asyncio.to_thread(pattern.settled, files)


def _named(folder: str, workspace: Workspace) -> str:
    """Return a folder as the names of its files begin."""
    if not folder.startswith("/") and ".." not in folder.split("/"):
        return folder.rstrip("/")
    return workspace.shown(workspace.locate(folder)[1]) or folder


def _through_links(text: str, workspace: Workspace) -> str:
    """Return a pattern with the real path of the workspace that it begins with, if it is so."""
    start, rest = plain_start(text)
    try:
        return f"{workspace.locate(start)[1]}/{rest}" if start else text
    except WorkspaceError:
        return text


async def why_nothing(pattern: PathPattern, workspace: Workspace) -> str:
    """Return how a pattern that fits no file was read, and which files nearly fit."""
    names = await workspace.files(".")
    said = f"Read as: {visible_line(pattern.reading)}, {_relative_to(pattern)}."
    if gone := await _unlisted(pattern, names, workspace):
        real = workspace.shown(workspace.locate(gone)[1])
        if real and real != gone:
            listed = f"{visible_line(gone)} is a link; its files are listed as {visible_line(real)}"
            return f"{said} {listed}."
        return f"{said} {visible_line(gone)} is there, but ignored or empty."
    near, count = await asyncio.to_thread(_nearly, pattern, names)
    if not near:
        return f"{said} Ignored files are left out."
    more = f" and {count - len(near)} more" if count > len(near) else ""
    return f"{said} Similar: {', '.join(map(visible_line, near))}{more}."


def _relative_to(pattern: PathPattern) -> str:
    below = f"{visible_line(pattern.folder)}/ or to " if pattern.folder else ""
    return f"relative to {below}the workspace"


async def _unlisted(pattern: PathPattern, names: Sequence[str], workspace: Workspace) -> str:
    """Return the path, or the folder, of the pattern that is there without a listed file."""
    for one in pattern.spellings:
        path = unquoted(one if is_plain(one) else plain_start(one)[0]).strip("/")
        below = f"{pattern.folder}/{path}" if pattern.folder else path
        for place in (path, below) if path else ():
            is_listed = any(name == place or name.startswith(f"{place}/") for name in names)
            if not is_listed and await _exists(place, workspace):
                return place
    return ""


async def _exists(path: str, workspace: Workspace) -> bool:
    try:
        return await workspace.exists(path)
    except WorkspaceError:
        return False


def _nearly(pattern: PathPattern, names: Sequence[str]) -> tuple[list[str], int]:
    """Return some of the files that nearly fit, and how many there are."""
    for found in _near(pattern, names):
        if found:
            found = sorted(found, key=lambda one: (one.count("/"), one))
            return found[:_MAX_NEAR], len(found)
    return [], 0


def _near(pattern: PathPattern, names: Sequence[str]) -> Iterator[list[str]]:
    """Yield what fits in another case, deeper, elsewhere, and with a similar name."""
    yield PathPattern(pattern.text, pattern.folder, pattern.tops, is_cased=False).filter(names)
    yield pattern.filter(names, also_below=True)
    ends = dict.fromkeys(one.rstrip("/").rpartition("/")[2] for one in pattern.spellings)
    lasts = [one for one in ends if one not in _ANY_NAME]
    for last in lasts:
        yield PathPattern(f"**/{last}", is_cased=False).filter(names)
    for last in filter(is_plain, lasts):
        by_name = {name: name.rpartition("/")[2] for name in names}
        close = process.extract(
            unquoted(last), by_name, scorer=fuzz.ratio, score_cutoff=_MIN_LIKENESS, limit=_MAX_NEAR
        )
        yield [str(name) for _, _, name in close]
    yield from (_beside(one, names) for one in pattern.spellings)


def _beside(spelling: str, names: Sequence[str]) -> list[str]:
    """Return what is in the deepest folder of a pattern that is there."""
    parts = unquoted(plain_start(spelling.strip("/"))[0]).split("/")
    for count in range(len(parts) - 1, 0, -1):
        front = "/".join(parts[:count]) + "/"
        inner = {_first(name[len(front) :]) for name in names if name.startswith(front)}
        if inner:
            return sorted(f"{front}{one}" for one in inner)
    return []


def _first(path: str) -> str:
    """Return the first name of a path, a folder's with a slash."""
    name, slash, _ = path.partition("/")
    return name + slash
