"""Recognises agent-ls's own files: settings, keys, rules, trust, history, logs, caches.

Compares resolved paths and inodes, never names alone: the folders can be set to lie anywhere.
A workspace can be one of them, hold one or link to one.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import platformdirs

from agent_ls.safety.paths import components_below, real_path

_APP = "agent-ls"

_stores: set[Path] = set()
"""Files of stores that this process opened elsewhere than in its data folder."""


_held: ContextVar[OwnPlaces | None] = ContextVar("held", default=None)


@contextmanager
def own_places_looked_up_once() -> Generator[None]:
    """During the block, our folders stay where they are now. Only where nothing is carried out."""
    token = _held.set(OwnPlaces.now())
    try:
        yield
    finally:
        _held.reset(token)


def claim_store(file: Path) -> None:
    """Treat an SQLite store and its side files as agent-ls's own."""
    _stores.update(file.with_name(file.name + end) for end in ("", "-wal", "-shm"))


@dataclass(frozen=True, slots=True)
class OwnPlaces:
    """Our folders. Read for each decision, because environment variables can move them."""

    folders: tuple[Path, ...]
    """Links resolved; with the store's files, if these are elsewhere."""
    _inodes: frozenset[tuple[int, int] | None]

    @classmethod
    def now(cls) -> OwnPlaces:
        """Return our folders as they are now."""
        if held := _held.get():
            return held
        names = (
            *(platformdirs.user_config_dir(_APP), platformdirs.user_data_dir(_APP)),
            *(platformdirs.user_state_dir(_APP), platformdirs.user_cache_dir(_APP)),
        )
        folders = dict.fromkeys(map(_where, (*map(Path, names), *_stores)))
        return cls(tuple(folders), frozenset(map(_inode, folders)) - {None})

    def hold(self, place: Path, *, is_resolved: bool = False) -> bool:
        """Say whether a path is inside one of our folders; hard links are not recognised.

        Looks at the disk; if a path cannot be resolved, only its name counts.
        """
        real = place if is_resolved else real_path(place)
        if any(components_below(real, one) is not None for one in self.folders):
            return True
        # The same folder by another path: a mount, or a file system that ignores case.
        for one in accumulate(real.parts, os.path.join) if self._inodes else ():
            inode = _inode(one)
            if inode is None or inode in self._inodes:
                return inode is not None
        return False

    def lie_in(self, place: Path) -> bool:
        """Say whether a path contains one of our folders, so that moving it would move them."""
        real = real_path(place)
        return any(components_below(one, real) is not None for one in self.folders)


def own_folders() -> tuple[Path, ...]:
    """Return our folders, links resolved."""
    return OwnPlaces.now().folders


def _where(place: Path) -> Path:
    inode = _inode(place)
    if inode is None or _inode(known := _still(place, inode)) != inode:
        return real_path(place)
    return known


@lru_cache(maxsize=64)
def _still(place: Path, _inode: tuple[int, int]) -> Path:
    """Return where a folder is, resolved once as long as the name leads to the same folder."""
    return real_path(place)


def _inode(place: Path | str) -> tuple[int, int] | None:
    try:
        facts = os.stat(place)  # noqa: PTH116 - texts need no Path made of them
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino
