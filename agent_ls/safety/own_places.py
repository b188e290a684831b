"""Recognises agent-ls's own files: settings, keys, rules, trust, history, logs, caches.

Compares resolved paths and inodes, never names alone: the folders can be set to lie anywhere.
A workspace can be one of them, hold one or link to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from agent_ls.safety.paths import components_below, real_path

_APP = "agent-ls"

_stores: set[Path] = set()
"""Files of stores that this process opened elsewhere than in its data folder."""


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
        names = (
            *(platformdirs.user_config_dir(_APP), platformdirs.user_data_dir(_APP)),
            *(platformdirs.user_state_dir(_APP), platformdirs.user_cache_dir(_APP)),
        )
        folders = dict.fromkeys(map(real_path, (*map(Path, names), *_stores)))
        return cls(tuple(folders), frozenset(map(_inode, folders)) - {None})

    def hold(self, place: Path) -> bool:
        """Say whether a resolved path is inside one of our folders.

        Looks at the disk. Hard links are not recognised.
        """
        if any(components_below(place, one) is not None for one in self.folders):
            return True
        # The same folder by another path: a mount, or a file system that ignores case.
        return bool(self._inodes) and any(
            _inode(one) in self._inodes for one in (place, *place.parents)
        )

    def lie_in(self, place: Path) -> bool:
        """Say whether a resolved path contains one of our folders, which would move along."""
        return any(components_below(one, place) is not None for one in self.folders)


def own_folders() -> tuple[Path, ...]:
    """Return our folders, links resolved."""
    return OwnPlaces.now().folders


def _inode(place: Path) -> tuple[int, int] | None:
    try:
        facts = place.stat()
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino
