"""Remember the contents of files at the last look around a command, within memory limits. Blocking.

Texts and other files have separate limits, so that images do not displace sources. Links are never
followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from agent_ls.domain.images import MAX_KEPT_BYTES, FileImage, is_text
from agent_ls.domain.permissions import PERMISSIONS
from agent_ls.safety.beneath import open_beneath
from agent_ls.workspace.disk_files import MAX_BYTES
from agent_ls.workspace.git_blobs import Blob

_MAX_HASHED_BYTES = 64 * 2**20
"""Larger files are compared only by size and time."""
_MAX_KEPT_TEXTS_BYTES = 64 * 2**20
_MAX_KEPT_WHOLE_BYTES = 32 * 2**20
_BLOCK = 2**20
_HEAD_BYTES = 64 * 2**10
_LOOKING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_LINUX_COARSE = 5
"""CLOCK_REALTIME_COARSE, by which Linux dates files; Python has no name for it."""
_UNREADABLE = -1
"""Instead of a folder's descriptor: its files are there, but it cannot be opened."""

_STATE = struct.Struct("<QQqqI")
"""A signature, and a mode."""

Signature = tuple[int, int, int, int]
"""Inode, size, modification time and change time (both in ns)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of one file at a look."""

    signature: Signature
    mode: int | None
    """None: it was never on disk at a look."""
    data: bytes | None = None
    """None: not kept."""
    digest: str | None = None
    """None: not computed, because the bytes are kept or the file is large."""
    is_text: bool = False
    blob: Blob | None = None
    """Where git holds the bytes, which were not read."""

    @property
    def is_plain(self) -> bool:
        """Tell whether it is a kept text, small enough to be edited by lines."""
        return self.data is not None and self.is_text and len(self.data) <= MAX_BYTES

    @property
    def permissions(self) -> int | None:
        """Return its permissions; None if unknown."""
        return None if self.mode is None else self.mode & PERMISSIONS

    @property
    def image(self) -> FileImage:
        """Return the state as a ``FileImage``."""
        return FileImage(
            size_bytes=self.signature[1] if self.data is None else len(self.data),
            digest=self.digest or (self.data is not None and _digest(self.data)) or None,
            mode=self.permissions,
            is_kept=self.data is not None,
            is_text=self.is_text,
        )

    def with_data(self, data: bytes | None) -> Seen:
        """Return the state with bytes that were not read; None: they are not known."""
        if data is None or len(data) > MAX_KEPT_BYTES:
            return self
        return replace(self, data=data, is_text=is_text(data))

    def is_same(self, other: Seen) -> bool:
        """Tell whether both have the same content; by size and time if nothing better is known."""
        if self.data is not None and other.data is not None:
            return self.data == other.data
        if self.image.digest is not None and other.image.digest is not None:
            return self.image.digest == other.image.digest
        return self.signature[1:3] == other.signature[1:3]


class SeenFiles:
    """The last seen states of files, by path."""

    def __init__(self) -> None:
        self._files: dict[str, Seen] = {}
        self._unread: dict[str, bytes] = {}
        """Files that git holds as they are: their states in few bytes, since there are many."""
        self._kept_bytes = {True: 0, False: 0}
        """True: bytes of plain texts; False: of all others."""
        self._lock = threading.Lock()
        """A look at one file may run while another thread looks at all of them."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over a copy of the paths."""
        return iter([*self._files, *self._unread])

    def signature(self, path: str) -> Signature | None:
        """Return the last seen signature of a file; None if there is none."""
        if (seen := self._files.get(path)) is not None:
            return seen.signature
        packed = self._unread.get(path)
        return None if packed is None else _unpacked(packed).signature

    def take_unread(self, path: str, signature: Signature, blob: Blob) -> bool:
        """Remember a file without its bytes, which git holds; False if it is not as it was then.

        It had this signature before git was asked.
        """
        with suppress(OSError):
            facts = os.lstat(path)
            if signature_of(facts) == signature and facts.st_size == blob.size:
                state = _STATE.pack(*signature, facts.st_mode)
                with self._lock:
                    self._unread[path] = state + bytes.fromhex(blob.oid)
                return True
        return False

    def look(
        self, paths: Iterable[str], roots: Iterable[Path], *, hashes: bool = False
    ) -> Iterator[tuple[str, Seen | None, Seen | None]]:
        """Read and remember files; yield each with its state until now and its new one.

        Shape: absolute paths, those of one folder together; None: no file. ``hashes`` also digests
        large files.
        """
        for folder, inner in groupby(paths, key=os.path.dirname):
            descriptor = _opened(folder, roots)
            try:
                for path in inner:
                    with self._lock:
                        change = self._look(path, descriptor, hashes=hashes)
                    yield (path, *change)
            finally:
                if descriptor is not None and descriptor != _UNREADABLE:
                    os.close(descriptor)

    def _look(
        self, path: str, folder: int | None, *, hashes: bool
    ) -> tuple[Seen | None, Seen | None]:
        if (before := self._files.pop(path, None)) is not None:
            self._kept_bytes[before.is_plain] -= len(before.data or b"")
        elif (packed := self._unread.pop(path, None)) is not None:
            before = _unpacked(packed)
        after = None if folder is None else self._seen(path, folder, hashes=hashes)
        if after is not None:
            self._files[path] = after
            self._kept_bytes[after.is_plain] += len(after.data or b"")
        return before, after

    def _seen(self, path: str, folder: int, *, hashes: bool) -> Seen | None:
        if folder == _UNREADABLE:
            return _closed(path)
        try:
            descriptor = os.open(path.rpartition("/")[2], _LOOKING, dir_fd=folder)
        except PermissionError:
            # It exists but is not readable.
            return _closed(path)
        except OSError:
            return None
        try:
            return self._read(descriptor, hashes=hashes)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def _read(self, descriptor: int, *, hashes: bool) -> Seen | None:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return None
        signature = signature_of(facts)
        if facts.st_size > MAX_KEPT_BYTES:
            return _large(descriptor, signature, facts.st_mode, hashes=hashes)
        data = os.read(descriptor, facts.st_size + 1)
        if len(data) != facts.st_size:
            data += _rest(descriptor, MAX_KEPT_BYTES + 1 - len(data))
        is_whole = len(data) <= MAX_KEPT_BYTES
        found = Seen(signature, facts.st_mode, data, None, is_text(data))
        room = _MAX_KEPT_TEXTS_BYTES if found.is_plain else _MAX_KEPT_WHOLE_BYTES
        if not is_whole or self._kept_bytes[found.is_plain] + len(data) > room:
            digest = _digest(data) if is_whole else None
            return Seen(signature, facts.st_mode, None, digest, found.is_text)
        return found


def _unpacked(packed: bytes) -> Seen:
    *signature, mode = _STATE.unpack_from(packed)
    inode, size, modified_ns, changed_ns = signature
    blob = Blob(packed[_STATE.size :].hex(), size)
    return Seen((inode, size, modified_ns, changed_ns), mode, blob=blob)


def _opened(folder: str, roots: Iterable[Path]) -> int | None:
    """Open a folder below the innermost root that holds it; None if that cannot be done."""
    above = [root for root in roots if Path(folder).is_relative_to(root)]
    if not above:
        return None
    root = max(above, key=lambda one: len(one.parts))
    try:
        return open_beneath(root, Path(folder).relative_to(root), os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return _UNREADABLE
    except OSError:
        return None


def _rest(descriptor: int, limit: int) -> bytes:
    """Read a file that changes its size while it is read, to its end or the limit."""
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(descriptor, min(limit, _BLOCK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def signature(path: Path | str) -> Signature | None:
    """Return the signature of a file, which changes with it; None if there is no regular file."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return signature_of(facts) if stat.S_ISREG(facts.st_mode) else None


def _closed(path: str) -> Seen | None:
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return Seen(signature_of(facts), facts.st_mode) if stat.S_ISREG(facts.st_mode) else None


def identity(signature: Signature) -> Signature:
    """Return the part of a signature that stays when a file or its folder is moved."""
    return (*signature[:3], 0)


def signature_of(facts: os.stat_result) -> Signature:
    """Return the signature for a stat result."""
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _large(descriptor: int, signature: Signature, mode: int, *, hashes: bool) -> Seen:
    """Return the state of a file too large to keep; with ``hashes`` and not too large, digested."""
    head = os.read(descriptor, _HEAD_BYTES)
    digest: str | None = None
    if hashes and signature[1] <= _MAX_HASHED_BYTES:
        hasher, size = hashlib.sha256(head), len(head)
        while size <= _MAX_HASHED_BYTES and (part := os.read(descriptor, _BLOCK)):
            hasher.update(part)
            size += len(part)
        digest = hasher.hexdigest() if size <= _MAX_HASHED_BYTES else None
    return Seen(signature, mode, None, digest, is_text(head, is_whole=False))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def file_clock_ns() -> int:
    """Return the time stamp that a file created now gets, in nanoseconds since the epoch.

    Linux uses the time of its last tick, which on a busy machine may be older than any margin.
    """
    return time.clock_gettime_ns(_LINUX_COARSE) if sys.platform == "linux" else time.time_ns()
