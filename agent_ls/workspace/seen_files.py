"""Remember the contents of files at the last look around a command, within memory limits. Blocking.

Texts and other files have separate limits, so that images do not displace sources. Links are never
followed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain.images import MAX_KEPT_BYTES, FileImage, is_text
from agent_ls.domain.permissions import PERMISSIONS
from agent_ls.safety.beneath import open_beneath
from agent_ls.workspace.disk_files import MAX_BYTES

_MAX_HASHED_BYTES = 64 * 2**20
"""Larger files are compared only by size and time."""
_MAX_KEPT_TEXTS_BYTES = 64 * 2**20
_MAX_KEPT_WHOLE_BYTES = 32 * 2**20
_BLOCK = 2**20
_HEAD_BYTES = 64 * 2**10
_LOOKING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

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
        self._files: dict[Path, Seen] = {}
        self._kept_bytes = {True: 0, False: 0}
        """True: bytes of plain texts; False: of all others."""
        self._lock = threading.Lock()
        """A look at one file may run while another thread looks at all of them."""

    def __iter__(self) -> Iterator[Path]:
        """Iterate over a copy of the paths."""
        return iter(list(self._files))

    def get(self, path: Path) -> Seen | None:
        """Return the last seen state of a file; None if there is none."""
        return self._files.get(path)

    def look(self, path: Path, roots: Sequence[Path], *, hashes: bool = False) -> Seen | None:
        """Read and remember a file; None if there is none. ``hashes`` also digests large files."""
        with self._lock:
            return self._look(path, roots, hashes=hashes)

    def _look(self, path: Path, roots: Sequence[Path], *, hashes: bool) -> Seen | None:
        if (known := self._files.pop(path, None)) is not None:
            self._kept_bytes[known.is_plain] -= len(known.data or b"")
        # Compare strings, because path operations would dominate the time per file.
        place = path.as_posix()
        fronts = {one: f"{one.as_posix().rstrip('/')}/" for one in roots}
        root = max(
            (one for one, front in fronts.items() if place.startswith(front)),
            key=lambda one: len(fronts[one]),
            default=None,
        )
        if root is None:
            return None
        try:
            descriptor = open_beneath(root, place[len(fronts[root]) :], _LOOKING)
        except PermissionError:
            # It exists but is not readable.
            seen = _closed(path)
        except OSError:
            return None
        else:
            try:
                seen = self._read(descriptor, hashes=hashes)
            except OSError:
                return None
            finally:
                os.close(descriptor)
        if seen is not None:
            self._files[path] = seen
            self._kept_bytes[seen.is_plain] += len(seen.data or b"")
        return seen

    def _read(self, descriptor: int, *, hashes: bool) -> Seen | None:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return None
        signature = signature_of(facts)
        if facts.st_size > MAX_KEPT_BYTES:
            return _large(descriptor, signature, facts.st_mode, hashes=hashes)
        parts: list[bytes] = []
        left = MAX_KEPT_BYTES + 1
        while left > 0 and (part := os.read(descriptor, min(left, _BLOCK))):
            parts.append(part)
            left -= len(part)
        data = b"".join(parts)
        found = Seen(signature, facts.st_mode, data, None, is_text(data))
        room = _MAX_KEPT_TEXTS_BYTES if found.is_plain else _MAX_KEPT_WHOLE_BYTES
        if left <= 0 or self._kept_bytes[found.is_plain] + len(data) > room:
            digest = _digest(data) if left > 0 else None
            return Seen(signature, facts.st_mode, None, digest, found.is_text)
        return found


def signature(path: Path) -> Signature | None:
    """Return the signature of a file, which changes with it; None if there is no regular file."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return signature_of(facts) if stat.S_ISREG(facts.st_mode) else None


def _closed(path: Path) -> Seen | None:
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
