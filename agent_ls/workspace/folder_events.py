"""Tells which entries of some folders changed, by inotify, the file events of Linux.

The kernel queues an event before the call that causes it returns. So after a command's end, what is
read names all that the command changed. Source: inotify(7).
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_MAX_FOLDERS = 50_000
"""The kernel holds about 1 KB for each, and the user's other programs share its limit."""
_READ_BYTES = 2**18
_EVENT = struct.Struct("iIII")
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED, _CREATE, _DELETE = 0x40 | 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IS_FOLDER = 0x2000, 0x4000, 0x4000_0000
_ONLY_FOLDERS, _NO_LINKS = 0x100_0000, 0x200_0000
_MASK = (
    *(_MODIFY | _ATTRIB | _CLOSE_WRITE, _MOVED | _CREATE | _DELETE),
    *(_DELETE_SELF | _MOVE_SELF, _ONLY_FOLDERS | _NO_LINKS),
)
_LOCAL = {
    # ext, btrfs, xfs, tmpfs, overlayfs, zfs, f2fs, bcachefs: no other machine changes these.
    *(0xEF53, 0x9123_683E, 0x5846_5342, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1, 0xF2F5_2010),
    0xCA45_1A4E,
}


class EventsLost(Exception):
    """Not all changes are known: the folders have to be looked at."""


class Event(NamedTuple):
    """Something changed about an entry of a folder."""

    name: str
    """Relative to the top folder."""
    is_folder: bool


class FolderEvents:
    """The changes in watched folders, by their paths relative to one: ``""``, or ending in ``/``.

    Not thread-safe. Errors: ``OSError`` where there are no such events.
    """

    def __init__(self, top: str) -> None:
        """Take a resolved folder, and watch it."""
        self._top = top
        self._fd = -1
        self._numbers: dict[str, int] = {}
        self._folders: dict[int, str] = {}
        if sys.platform != "linux":
            raise OSError("file events are only read on Linux")
        self._fd = _checked(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._devices = set[int]()
        self.watch("")

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def __contains__(self, folder: str) -> bool:
        return folder in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def watch(self, folder: str) -> None:
        """Watch one more folder. Errors: ``OSError`` if it is none, or cannot be relied on."""
        if len(self._numbers) >= _MAX_FOLDERS:
            raise OSError(f"more than {_MAX_FOLDERS:,} folders")
        path = os.fsencode(f"{self._top}/{folder}")
        number = _checked(_libc().inotify_add_watch(self._fd, path, sum(_MASK)))
        self._check_disk(path)
        self._numbers[folder], self._folders[number] = number, folder

    def forget(self, top: str) -> None:
        """Watch no longer a folder and those below it, which may be elsewhere now."""
        for folder in [one for one in self._numbers if one.startswith(top)]:
            number = self._numbers.pop(folder)
            del self._folders[number]
            # It fails for a folder that is gone.
            _libc().inotify_rm_watch(self._fd, number)

    def read(self) -> set[Event]:
        """Return what has changed since the last time. Errors: ``EventsLost``."""
        found = set[Event]()
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return found
            at = 0
            while at < len(data):
                number, mask, _, size = _EVENT.unpack_from(data, at)
                at += _EVENT.size + size
                folder = self._folders.get(number)
                if mask & (_OVERFLOW | _UNMOUNT):
                    raise EventsLost
                if folder is None:
                    continue
                if size:
                    name = os.fsdecode(data[at - size : at].rstrip(b"\0"))
                    found.add(Event(folder + name, bool(mask & _IS_FOLDER)))
                elif not folder and mask & (_DELETE_SELF | _MOVE_SELF):
                    raise EventsLost

    def _check_disk(self, path: bytes) -> None:
        """Refuse a disk that other machines may change, which gives no events here."""
        device = os.stat(path).st_dev  # noqa: PTH116 - for thousands of folders it is worth it
        if device not in self._devices:
            facts = ctypes.create_string_buffer(256)
            _checked(_libc().statfs(path, facts))
            if int.from_bytes(facts.raw[:8], sys.byteorder) & 0xFFFF_FFFF not in _LOCAL:
                raise OSError("a disk that other machines may change")
            self._devices.add(device)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
