"""Recognises agent-ls's own files: settings, keys, rules, trust, history, logs, caches.

Compares resolved paths and inodes, never names alone: the folders can be set to lie anywhere.
A workspace can be one of them, hold one or link to one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import platformdirs

_APP = "agent-ls"

_stores: set[Path] = set()
"""Files of stores that this process opened elsewhere than in its data folder."""


def claim_store(file: Path) -> None:
    """Treat an SQLite store and its side files as agent-ls's own."""
    _stores.update(file.with_name(file.name + end) for end in ("", "-wal", "-shm"))


def is_own(place: Path) -> bool:
    """Say whether a path is inside one of our folders; hard links are not recognised.

    Looks at the disk; if a path cannot be resolved, only its name counts.
    """
    real = _resolved(place)
    folders = own_folders()
    if any(real.is_relative_to(one) for one in folders):
        return True
    inodes = {found for one in folders if (found := _inode(one))}
    # The same folder by another path: a mount, or a file system that ignores case.
    return any(_inode(one) in inodes for one in (real, *real.parents))


def holds_own(place: Path) -> bool:
    """Say whether a path contains one of our folders, so that moving it would move them."""
    real = _resolved(place)
    return any(one.is_relative_to(real) for one in own_folders())


def own_folders() -> Iterable[Path]:
    """Return our folders, and the store's files where they lie elsewhere; links resolved.

    Not cached, because environment variables say where they lie.
    """
    names = (
        *(platformdirs.user_config_dir(_APP), platformdirs.user_data_dir(_APP)),
        *(platformdirs.user_state_dir(_APP), platformdirs.user_cache_dir(_APP)),
    )
    return dict.fromkeys(map(_where, (*map(Path, names), *_stores)))


def _where(place: Path) -> Path:
    inode = _inode(place)
    if inode is None or _inode(known := _still(place, inode)) != inode:
        return _resolved(place)
    return known


@lru_cache(maxsize=64)
def _still(place: Path, _inode: tuple[int, int]) -> Path:
    """Return where a folder is, resolved once as long as the name leads to the same folder."""
    return _resolved(place)


def _resolved(place: Path) -> Path:
    try:
        return place.resolve()
    except (OSError, RuntimeError):
        return Path(os.path.abspath(place))  # noqa: PTH100 - resolving is what failed


def _inode(place: Path) -> tuple[int, int] | None:
    try:
        facts = place.stat()
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino
