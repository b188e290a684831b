"""Finds the ignored files of a folder: what lies beside and below the listed ones. Blocking."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from agent_ls.domain.temporary_files import is_temporary
from agent_ls.safety.ripgrep import NEVER_LISTED
from agent_ls.workspace.ignore import is_text

_CACHES = frozenset({"__pycache__", ".cache"})
_PRODUCTS = frozenset(
    {
        *("node_modules", ".venv", "venv", "site-packages", "target", "dist", "build", "out"),
        *(".next", ".nuxt", ".tox", ".gradle"),
    }
)
"""Ignored folders that programs fill, and empty again all the time."""

Entry: TypeAlias = tuple[str, "os.DirEntry[str]"]
"""A path relative to the root, folders with a final slash, and what stands there."""


def ignored_beside(root: Path, listed: Collection[str]) -> list[Entry]:
    """Return what the folders of the listed files hold besides them.

    A folder without any listed file counts as a whole.
    """
    folders = {""}
    for name in listed:
        folder = name[: name.rfind("/") + 1]
        while folder not in folders:
            folders.add(folder)
            folder = folder[: folder.rfind("/", 0, -1) + 1]
    return ignored_in(root, folders, listed.__contains__, folders.__contains__)


def ignored_in(
    root: Path,
    folders: Iterable[str],
    is_listed: Callable[[str], bool],
    is_looked_at: Callable[[str], bool],
) -> list[Entry]:
    """Return what these folders hold besides listed files and folders that are looked at.

    The names of folders end with a slash, but for the top's, which is empty.
    """
    found: list[Entry] = []
    for folder in folders:
        with suppress(OSError), os.scandir(root / folder) as entries:
            for entry in entries:
                path = folder + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not is_looked_at(f"{path}/") and entry.name not in NEVER_LISTED:
                        found.append((f"{path}/", entry))
                elif not is_listed(path):
                    found.append((path, entry))
    return found


def may_hold_files(name: str) -> bool:
    """Say whether something ignored with this name counts: it is no cache."""
    return name not in _CACHES and not name.endswith("_cache") and is_text(name)


def files_below(ignored: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the files of ignored entries and of folders in there, folders of products as a whole.

    Caches are skipped.
    """
    open_entries = list(ignored)
    while open_entries:
        path, entry = open_entries.pop()
        if not may_hold_files(entry.name):
            continue
        if not path.endswith("/"):
            if entry.is_file(follow_symlinks=False) and not is_temporary(entry.name):
                yield path, entry
        elif entry.name in _PRODUCTS:
            yield path, entry
        else:
            with suppress(OSError), os.scandir(entry.path) as found:
                for one in found:
                    end = "/" if one.is_dir(follow_symlinks=False) else ""
                    open_entries.append((f"{path}{one.name}{end}", one))
