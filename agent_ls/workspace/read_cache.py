"""Cache of file texts, valid while the file on disk is unchanged.

An entry is valid only while the file's identity, size and times are the same, so no invalidation
is needed. All agents of a process share it. Source: S0, shared file cache.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from time import time_ns

from agent_ls.domain.edits import TextFile

_SETTLED_NS = 2_000_000_000
"""A file changed more recently than this could change again with the same times."""
_BYTES_PER_CHARACTER = 2


@dataclass(frozen=True, slots=True)
class Signature:
    """Facts about a file on disk that change when its content does."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int


class ReadCache:
    """Keeps the most recently used texts; thread-safe."""

    def __init__(self, max_bytes: int = 5 * 2**20) -> None:
        """Start empty; with ``max_bytes`` 0 nothing is kept."""
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Path, tuple[Signature, TextFile, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, place: Path, signature: Signature) -> TextFile | None:
        """Return the cached text if the signature is the same; else None."""
        with self._lock:
            known = self._entries.get(place)
            if known is None or known[0] != signature:
                return None
            self._entries.move_to_end(place)
            return known[1]

    def put(self, place: Path, signature: Signature, file: TextFile) -> None:
        """Keep a text that was read while the file had this signature."""
        size = len(file.text) * _BYTES_PER_CHARACTER
        newest_ns = max(signature.modified_ns, signature.changed_ns)
        if time_ns() - newest_ns < _SETTLED_NS or size > self._max_bytes:
            return
        with self._lock:
            self._entries[place] = signature, file, size
            self._entries.move_to_end(place)
            while sum(size for _, _, size in self._entries.values()) > self._max_bytes:
                self._entries.popitem(last=False)
