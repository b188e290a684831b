"""Finds files that have other names (hard links) outside of what a command may change.

Whoever writes such a file changes it under all its names, so no command may. On the way it finds
what steers other programs in folders of third-party code. Each command waits for this, so these are
looked into again only when they have changed.
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from agent_ls.safety.control_files import NOT_WALKED
from agent_ls.safety.sandbox.survey import MAX_FILES, is_repository, kind_of, stamp_of

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
    steering: frozenset[str] = frozenset()
    """Entries that steer other programs; only of third-party code."""
    is_repository: bool = False


class Found(NamedTuple):
    """What is found in one walk."""

    linked: list[Path]
    """What must be read-only, as ``linked_outside`` returns it."""
    steering: frozenset[Path]
    """What steers other programs in folders of third-party code, outermost."""


class _Walk:
    """One walk through a folder. Third-party code is listed again only where it has changed."""

    def __init__(self, top: str) -> None:
        self.top = top
        self._known = _remembered.get(top, {})
        self._seen = dict[str, _Folder]()
        self._number = 0
        self.steering = set[Path]()
        self.is_after = False
        """Whether a command may have closed folders that it filled: they are opened."""

    def through(
        self, stack: list[tuple[str, bool, bool]]
    ) -> Iterator[tuple[str, tuple[_Linked, ...] | None]]:
        """Yield each folder with files of several names, with these; None: it cannot be looked at.

        ``stack`` are folders to begin with, whether each is third-party code, and whether it steers
        programs as a whole.
        """
        while stack:
            path, is_store, steers = stack.pop()
            folder = self._folder(path) if is_store else _listed(path, ())
            if is_store:
                self._seen[path] = folder or _CLOSED
            if folder is None or self._number > MAX_FILES:
                yield path, None
                continue
            self._number += folder.number
            if folder.linked:
                yield path, folder.linked
            if folder.is_repository and not steers:
                self.steering.add(Path(path))
                steers = True
            if not steers:
                self.steering.update(Path(path, name) for name in folder.steering)
            for name in folder.below:
                is_inner = is_store or name in NOT_WALKED
                held = steers or name in folder.steering or (is_inner and name == ".git")
                stack.append((f"{path}/{name}", is_inner, held))
        # After a command only some folders are walked through.
        _remembered[self.top] = {**self._known, **self._seen} if self.is_after else self._seen
        while len(_remembered) > _MAX_REMEMBERED:
            _remembered.pop(next(iter(_remembered)), None)

    def _folder(self, path: str) -> _Folder | None:
        now, known = stamp_of(path), self._known.get(path)
        if known is not None and now and known.stamp == now:
            return known
        found = _listed(path, now, is_store=True)
        if found is None and self.is_after and known is not _CLOSED:
            with suppress(OSError):
                os.chmod(path, 0o700)  # noqa: PTH101 - a path for each folder would cost too much
                found = _listed(path, now, is_store=True)
        return found


_CLOSED = _Folder((), 0, (), ())
"""Stands for a folder that cannot be listed."""


_remembered: dict[str, dict[str, _Folder]] = {}
"""Folders of third-party code by path, for each folder that was walked through."""


def look_around(folders: Iterable[Path]) -> Found:
    """Return what must be read-only in these folders, and what steers programs in third-party code.

    Looks at each file.
    """
    tops = _outermost(folders)
    walks = [_Walk(top) for top in tops]
    looked_at = [one for walk in walks for one in walk.through([(walk.top, False, False)])]
    inside = Counter(one.file for _, linked in looked_at for one in linked or ())
    places = dict[str, list[str]]()
    for path, linked in looked_at:
        outside = [f"{path}/{one.name}" for one in linked or () if inside[one.file] < one.names]
        if outside or linked is None:
            places[path] = outside
    steering = frozenset(path for walk in walks for path in walk.steering)
    return Found(list(map(Path, _few(places, tops))), steering)


def linked_outside(folders: Iterable[Path]) -> list[Path]:
    """Return what must be read-only in these folders: files with names elsewhere, or their folders.

    A file whose names all lie in the folders is none. Neither is a link that leads elsewhere.
    A folder that cannot be listed, or too many files, count as such.
    """
    return look_around(folders).linked


def third_party_steering(folder: Path, stores: Iterable[Path]) -> frozenset[Path]:
    """Return what steers other programs in a folder's ``stores`` of third-party code.

    For after a command: what it closed is opened for its owner.
    """
    walk = _Walk(str(folder))
    walk.is_after = True
    for _ in walk.through([(str(one), True, one.name == ".git") for one in stores]):
        pass
    return frozenset(walk.steering)


def _outermost(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the folders that lie in no other one, so that no name counts twice."""
    every = set(folders)
    return tuple(str(one) for one in sorted(every) if every.isdisjoint(one.parents))


def _listed(path: str, now: tuple[int, ...], *, is_store: bool = False) -> _Folder | None:
    """Return what is in a folder; None if it cannot be listed."""
    linked, below, steering = list[_Linked](), list[str](), set[str]()
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
    if is_store:
        above = path.rsplit("/", 2)[1:]
        steering = {one.name for one in found if "steering" in kind_of((*above, one.name))}
    return _Folder(
        now,
        len(found),
        tuple(linked),
        tuple(below),
        frozenset(steering),
        is_store and is_repository(found),
    )


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
