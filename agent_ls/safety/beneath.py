"""Opening files below a root by descriptor, so that a link swapped in after a check leads nowhere.

The path must be resolved already: no component may be a link when it is opened. One openat2 call
where Linux has it, else a walk that opens each folder relative to the one above.
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

HAS_DESCRIPTORS = {os.open, os.mkdir, os.unlink, os.stat, os.rename} <= os.supports_dir_fd
"""Whether this system can open relative to a descriptor; where not, the checked path must do."""

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_CLOSED = getattr(os, "O_CLOEXEC", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _CLOSED

_OPENAT2 = 437
_RESOLVE = 0x02 | 0x04 | 0x08
"""No magic links, no links, nothing above the descriptor."""
_RENAME_NOREPLACE = 1


class _How(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_beneath(root: Path, below: PurePath | str, flags: int, mode: int = 0o666) -> int:
    """Open ``root/below`` and return the descriptor; never follows a link below ``root``.

    A name in a string is one without ``.`` and ``..`` in it; for many files it saves half the time.
    Errors: ``OSError``; ELOOP or EXDEV when a link stands where none was.
    """
    if not HAS_DESCRIPTORS:
        return os.open(root / below, flags | _NO_LINK, mode)
    top = os.open(root, _FOLDER | _CLOSED)
    try:
        if str(below) in ("", "."):
            return os.dup(top)
        if has_openat2():
            return _openat2(top, below, flags | _NO_LINK, mode)
        return walk_beneath(top, PurePath(below), flags | _NO_LINK, mode)
    finally:
        os.close(top)


@contextmanager
def folder_beneath(root: Path, below: PurePath, *, create: bool = False) -> Generator[int]:
    """Hold a descriptor of the folder ``root/below``, made first where ``create`` says so."""
    if create:
        _make_folders(root, below)
    descriptor = open_beneath(root, below, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walk_beneath(top: int, below: PurePath, flags: int, mode: int) -> int:
    """Open component by component from the descriptor ``top``, following no link."""
    folder = os.dup(top)
    try:
        for name in below.parts[:-1]:
            if name == "..":
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(below))
            inner = os.open(name, _FOLDER | _CLOSED, dir_fd=folder)
            os.close(folder)
            folder = inner
        if below.name == "..":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(below))
        return os.open(below.name, flags, mode, dir_fd=folder)
    finally:
        os.close(folder)


def rename_new(folder: int, name: str, to_folder: int, to_name: str) -> None:
    """Give a file another name where nothing has that name yet, in one step.

    Errors: ``FileExistsError`` when something has it.
    """
    if _renameat2(folder, name, to_folder, to_name):
        return
    # A hard link is refused where the name is taken, which a plain rename is not.
    os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
    os.unlink(name, dir_fd=folder)


@cache
def has_openat2() -> bool:
    """Say whether the kernel (and what stands before it) knows openat2."""
    if sys.platform != "linux":
        return False
    descriptor = os.open("/", _FOLDER | _CLOSED)
    try:
        os.close(_openat2(descriptor, PurePath(), _FOLDER | _CLOSED, 0))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _openat2(folder: int, below: PurePath | str, flags: int, mode: int) -> int:
    how = _How(flags, mode if flags & os.O_CREAT else 0, _RESOLVE)
    name, number = os.fsencode(below), 0
    for _ in range(8):
        descriptor = _libc().syscall(
            ctypes.c_long(_OPENAT2), folder, name, ctypes.byref(how), ctypes.sizeof(how)
        )
        if descriptor >= 0:
            return descriptor
        number = ctypes.get_errno()
        # The kernel asks to try again when something was renamed beneath it meanwhile.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number), str(below))


def _renameat2(folder: int, name: str, to_folder: int, to_name: str) -> bool:
    """Rename without replacing; False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    try:
        call = _libc().renameat2
    except AttributeError:
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
    if not HAS_DESCRIPTORS:
        (root / below).mkdir(parents=True, exist_ok=True)
        return
    folder = os.open(root, _FOLDER | _CLOSED)
    try:
        for name in below.parts:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            inner = os.open(name, _FOLDER | _CLOSED, dir_fd=folder)
            os.close(folder)
            folder = inner
    finally:
        os.close(folder)
