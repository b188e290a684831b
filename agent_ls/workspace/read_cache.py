"""Texts that were read before, for as long as the file on disk is still the same.

A text counts only while the file's identity, size and times are what they were when it was read,
so nobody has to say that something changed; every agent of a process shares it.
Source: seed 000, shared file cache.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain.edits import TextFile

_SETTLED_NS = 2_000_000_000
"""A file that changed more recently than this could change again without showing it."""
_BYTES_PER_CHARACTER = 2


@dataclass(frozen=True, slots=True)
class Signature:
    """What of a file on disk changes when its content does."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class _Entry:
    file: TextFile
    signature: Signature
    read_at_s: float
    size_bytes: int


class ReadCache:
    """Keeps the texts that were used last; safe to use from several threads."""

    def __init__(
        self,
        *,
        max_bytes: int = 5 * 2**20,
        max_age_s: float = 300.0,
        now_ns: Callable[[], int] = time.time_ns,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin empty; ``max_bytes`` 0 keeps nothing."""
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._now_ns = now_ns
        self._monotonic_s = monotonic_s
        self._entries: OrderedDict[Path, _Entry] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, place: Path, signature: Signature) -> TextFile | None:
        """Return the text of a file that is as it was; None when it has to be read."""
        with self._lock:
            entry = self._entries.get(place)
            if entry is None:
                return None
            is_old = self._monotonic_s() - entry.read_at_s > self._max_age_s
            if is_old or entry.signature != signature:
                self._drop(place)
                return None
            self._entries.move_to_end(place)
            return entry.file

    def put(self, place: Path, signature: Signature, file: TextFile) -> None:
        """Keep a text that was read while the file was like this."""
        size = len(file.text) * _BYTES_PER_CHARACTER
        newest_ns = max(signature.modified_ns, signature.changed_ns)
        if self._now_ns() - newest_ns < _SETTLED_NS or size > self._max_bytes:
            return
        with self._lock:
            self._drop(place)
            self._entries[place] = _Entry(file, signature, self._monotonic_s(), size)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _drop(self, place: Path) -> None:
        entry = self._entries.pop(place, None)
        self._bytes -= entry.size_bytes if entry else 0
