"""Read a file that may be hostile: only a regular file of limited size.

Reading a pipe without a writer, or some devices, never ends. A downloaded folder may hold either
under any name, or a link to one.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 2**20
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def read_file(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file; links are followed.

    Errors: ``OSError``, also if it is no regular file or larger than ``max_bytes``.
    """
    found, size = read_beginning(path, max_bytes=max_bytes)
    if size > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes", str(path))
    return found


def read_beginning(path: Path, *, max_bytes: int) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, and how many it has; links are followed.

    Errors: ``OSError``, also if it is no regular file.
    """
    # Check before opening too, since opening a device may have effects.
    _check(path.stat(), path)
    descriptor = os.open(path, _FLAGS)
    try:
        facts = os.fstat(descriptor)
        _check(facts, path)
        parts: list[bytes] = []
        left = max_bytes + 1
        while left > 0 and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
    finally:
        os.close(descriptor)
    found = b"".join(parts)
    # A file may grow while it is read.
    return found[:max_bytes], max(len(found), facts.st_size if left <= 0 else 0)


def _check(facts: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
