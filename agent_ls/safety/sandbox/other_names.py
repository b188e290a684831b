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

    changed: tuple[int, ...]
    """Changes with the entries; empty: it cannot be relied on."""
    number: int
    linked: tuple[_Linked, ...]
    below: tuple[str, ...]
    """The folders in it, by their paths."""
    steering: frozenset[str] = frozenset()
    """Paths that steer other programs; only of third-party code."""
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

    def through_all(self) -> Iterator[tuple[str, tuple[_Linked, ...] | None]]:
        """Yield each folder with files of several names, with these; None: it cannot be looked at.

        Each file is looked at.
        """
        stack, stores = [self.top], list[str]()
        while stack:
            path = stack.pop()
            folder = _listed(path, ())
            if folder is None or self._number > MAX_FILES:
                yield path, None
                continue
            self._number += folder.number
            if folder.linked:
                yield path, folder.linked
            for one in folder.below:
                (stores if one.rpartition("/")[2] in NOT_WALKED else stack).append(one)
        yield from self.through(stores)

    def through(self, stores: Iterable[str]) -> Iterator[tuple[str, tuple[_Linked, ...] | None]]:
        """Yield the same of folders of third-party code, and find what steers programs there."""
        stack, held = list[str](), list[str]()
        for one in stores:
            (held if one.endswith("/.git") else stack).append(one)
        yield from self._through(stack, held)
        # What steers programs as a whole is one find.
        yield from self._through(held, None)
        # After a command only some folders are walked through.
        _remembered[self.top] = {**self._known, **self._seen} if self.is_after else self._seen
        while len(_remembered) > _MAX_REMEMBERED:
            _remembered.pop(next(iter(_remembered)), None)

    def _through(
        self, stack: list[str], held: list[str] | None
    ) -> Iterator[tuple[str, tuple[_Linked, ...] | None]]:
        """Each command waits twice for this loop, which comes by each folder."""
        known_at, seen, lstat, number = self._known.get, self._seen, os.lstat, self._number
        while stack:
            path = stack.pop()
            folder = known_at(path)
            try:
                facts = lstat(path)
            except OSError:
                continue
            now = (facts.st_ctime_ns, facts.st_mtime_ns, facts.st_ino)
            if folder is None or folder.changed != now:
                folder = self._listed_anew(path, folder)
            seen[path] = folder or _CLOSED
            if folder is None or number > MAX_FILES:
                yield path, None
                continue
            number += folder.number
            if folder.linked:
                yield path, folder.linked
            if held is None or not (folder.steering or folder.is_repository):
                stack.extend(folder.below)
            elif folder.is_repository:
                self.steering.add(Path(path))
                held.extend(folder.below)
            else:
                self.steering.update(map(Path, folder.steering))
                for one in folder.below:
                    (held if one in folder.steering else stack).append(one)
        self._number = number

    def _listed_anew(self, path: str, known: _Folder | None) -> _Folder | None:
        stamp = stamp_of(path)
        now = (stamp[5], stamp[6], stamp[1]) if stamp else ()
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
    looked_at = [one for walk in walks for one in walk.through_all()]
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
    for _ in walk.through(map(str, stores)):
        pass
    return frozenset(walk.steering)


def _outermost(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the folders that lie in no other one, so that no name counts twice."""
    every = set(folders)
    return tuple(str(one) for one in sorted(every) if every.isdisjoint(one.parents))


def _listed(path: str, now: tuple[int, ...], *, is_store: bool = False) -> _Folder | None:
    """Return what is in a folder; None if it cannot be listed."""
    linked, below = list[_Linked](), list[str]()
    try:
        with os.scandir(path) as entries:
            found = list(entries)
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
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
    known = _Folder(now, len(found), tuple(linked), tuple(below))
    if not is_store:
        return known
    above = path.rsplit("/", 2)[1:]
    steering = (one.path for one in found if "steering" in kind_of((*above, one.name)))
    return known._replace(steering=frozenset(steering), is_repository=is_repository(found))


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
