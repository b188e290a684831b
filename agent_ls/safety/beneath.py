"""Opening files below a root by descriptor, so that a link swapped in after a check leads nowhere.

The path must be resolved already: no component may be a link when it is opened. Each folder is
opened relative to the one above.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path, PurePath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NO_LINK = os.O_NOFOLLOW | os.O_NONBLOCK

_RENAME_NOREPLACE = 1


def open_beneath(root: Path, below: PurePath, flags: int) -> int:
    """Open ``root/below`` and return the descriptor; never follows a link below ``root``.

    Errors: ``OSError``, also when a link stands where none was, or for ``..`` in a name.
    """
    names = str(below).split("/")
    if ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(below))
    folder = os.open(root, _FOLDER)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(names[-1], flags | _NO_LINK, dir_fd=folder)
    finally:
        os.close(folder)


@contextmanager
def folder_beneath(root: Path, below: PurePath, *, create: bool = False) -> Generator[int]:
    """Yield a descriptor of the folder ``root/below``; ``create`` makes a missing folder."""
    if create:
        _make_folders(root, below)
    descriptor = open_beneath(root, below, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def rename_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Rename a file, but never replace another one.

    Errors: ``FileExistsError`` if the new name is taken.
    """
    if _renameat2(folder, name, to_folder, to_name):
        return
    # Unlike a plain rename, a hard link fails if the name is taken.
    os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _renameat2(folder: int, name: str, to_folder: int, to_name: str) -> bool:
    """Rename without replacing; False where the system or the file system cannot."""
    call = getattr(_libc(), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        return False
    done = call(folder, os.fsencode(name), to_folder, os.fsencode(to_name), _RENAME_NOREPLACE)
    if done == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM):
        return False
    raise OSError(number, os.strerror(number), name, None, to_name)


def _make_folders(root: Path, below: PurePath) -> None:
    """Make each missing folder on the way, each relative to the one above."""
    folder = os.open(root, _FOLDER)
    try:
        for name in below.parts:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
    finally:
        os.close(folder)
