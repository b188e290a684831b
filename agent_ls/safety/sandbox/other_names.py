"""Finds files that have other names (hard links) outside of what a command may change.

Whoever writes such a file changes it under all its names, so no command may. Each command waits for
this, so folders of third-party code are looked into again only when they have changed.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from agent_ls.safety.control_files import NOT_WALKED
from agent_ls.safety.sandbox.survey import MAX_FILES, stamp_of

MAX_LINKED = 100
"""Read-only places for such files. Where there are more files, whole folders are read-only."""
_MAX_REMEMBERED = 16
"""Workspaces whose folders of third-party code are remembered."""


class _Linked(NamedTuple):
    """A name of a file that has several."""

    name: str
    file: tuple[int, int]
    """Its device and inode."""
    names: int


class _Folder(NamedTuple):
    """What matters of a folder's entries."""

    stamp: tuple[int, ...]
    number: int
    linked: tuple[_Linked, ...]
    below: tuple[str, ...]


_remembered: dict[tuple[str, ...], dict[str, _Folder]] = {}
"""Folders of third-party code by path, for each set of folders."""


def linked_outside(folders: Iterable[Path]) -> list[Path]:
    """Return what must be read-only in these folders: files with names elsewhere, or their folders.

    A file whose names all lie in the folders is none. Neither is a link that leads elsewhere.
    A folder that cannot be listed, or too many files, count as such.
    """
    tops = _outermost(folders)
    looked_at = list(_looked_at(tops))
    inside = Counter(one.file for _, linked in looked_at for one in linked or ())
    places = dict[str, list[str]]()
    for path, linked in looked_at:
        outside = [f"{path}/{one.name}" for one in linked or () if inside[one.file] < one.names]
        if outside or linked is None:
            places[path] = outside
    return list(map(Path, _few(places, tops)))


def _outermost(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the folders that lie in no other one, so that no name counts twice."""
    every = set(folders)
    return tuple(str(one) for one in sorted(every) if every.isdisjoint(one.parents))


def _looked_at(tops: tuple[str, ...]) -> Iterator[tuple[str, tuple[_Linked, ...] | None]]:
    """Yield each folder that has such files, with these; None: it cannot be looked into."""
    known, seen, number = _remembered.get(tops, {}), dict[str, _Folder](), 0
    stack = [(top, False) for top in tops]
    while stack:
        path, is_store = stack.pop()
        folder = _folder(path, known.get(path)) if is_store else _listed(path, ())
        if folder is None or number > MAX_FILES:
            yield path, None
            continue
        if is_store:
            seen[path] = folder
        number += folder.number
        if folder.linked:
            yield path, folder.linked
        stack += [(f"{path}/{name}", is_store or name in NOT_WALKED) for name in folder.below]
    _remembered[tops] = seen
    while len(_remembered) > _MAX_REMEMBERED:
        _remembered.pop(next(iter(_remembered)), None)


def _folder(path: str, known: _Folder | None) -> _Folder | None:
    now = stamp_of(path)
    return known if known is not None and now and known.stamp == now else _listed(path, now)


def _listed(path: str, now: tuple[int, ...]) -> _Folder | None:
    """Return what is in a folder; None if it cannot be listed."""
    linked, below = list[_Linked](), list[str]()
    try:
        with os.scandir(path) as entries:
            found = list(entries)
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    facts = entry.stat(follow_symlinks=False)
                    if facts.st_nlink > 1 and stat.S_ISREG(facts.st_mode):
                        file = facts.st_dev, facts.st_ino
                        linked.append(_Linked(entry.name, file, facts.st_nlink))
    except FileNotFoundError:
        # It went during the look.
        return _Folder((), 0, (), ())
    except OSError:
        return None
    return _Folder(now, len(found), tuple(linked), tuple(below))


def _few(places: Mapping[str, list[str]], tops: Iterable[str]) -> list[str]:
    """Return the files, at most ``MAX_LINKED`` places: where there are more, folders above them.

    ``places`` are the files by folder; a folder without files is a place itself.
    """
    below = {folder: list(files) for folder, files in places.items()}
    for folder in places:
        path = folder
        while path not in tops:
            inner, path = path, path.rpartition("/")[0]
            is_known = path in below
            below.setdefault(path, []).append(inner)
            if is_known:
                break
    open_folders = deque(top for top in tops if top in below)
    chosen, number = list[str](), len(open_folders)
    while open_folders:
        # Outer folders first: a folder far above would keep commands from much else.
        path = open_folders.popleft()
        inner = below.get(path, [])
        if inner and number + len(inner) - 1 <= MAX_LINKED:
            number += len(inner) - 1
            open_folders.extend(inner)
        else:
            chosen.append(path)
    return chosen
