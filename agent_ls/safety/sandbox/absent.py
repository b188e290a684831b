"""Keeps names of a folder absent while commands run in it, by empty folders of that name.

A command finds an empty folder that it cannot change. Commands of several servers may run in one
folder: each holds a shared lock on it, and the last one removes the empty folders.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MODE = stat.S_ISVTX | 0o500
"""Marks a folder as ours; nobody else uses this mode."""


@dataclass(frozen=True, slots=True)
class KeptAbsent:
    """The empty folders that stand for absent names in one folder, and the lock that holds them."""

    places: tuple[Path, ...]
    _lock: int

    def end(self) -> None:
        """Let go of the lock; remove the empty folders unless another command needs them."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
        else:
            for place in self.places:
                _remove(place)
        finally:
            os.close(self._lock)


def absent_names(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the names that are absent in a folder; those that are kept absent count too."""
    places = ((name, folder / name) for name in names)
    return [name for name, place in places if not os.path.lexists(place) or is_kept_absent(place)]


def keep_absent(folder: Path, names: Iterable[str]) -> KeptAbsent:
    """Create an empty folder for each absent name.

    Errors: ``OSError`` if the folder cannot be written.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        places = tuple(folder / name for name in names if _make(folder / name))
    except BaseException:
        os.close(lock)
        raise
    return KeptAbsent(places, lock)


def clear_left(folder: Path, names: Iterable[str]) -> None:
    """Remove the empty folders that a crash has left."""
    with suppress(OSError):
        left = [folder / name for name in names if is_kept_absent(folder / name)]
        if left:
            KeptAbsent(
                tuple(left), os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            ).end()


def _make(place: Path) -> bool:
    """Return whether an empty folder of ours stands there."""
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        return is_kept_absent(place)
    place.chmod(_MODE)
    return True


def is_kept_absent(place: Path) -> bool:
    """Say whether an empty folder of ours stands there."""
    try:
        facts = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and stat.S_IMODE(facts.st_mode) == _MODE


def _remove(place: Path) -> None:
    if is_kept_absent(place):
        with suppress(OSError):
            place.rmdir()
