"""Finds programs outside of the workspace, by the folders of PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path


def child_path() -> str:
    """Return PATH for child processes, with absolute folders only."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if entry.startswith("/")) or "/usr/bin:/bin"


def path_outside(folders: Sequence[Path]) -> str:
    """Return PATH without relative entries and without entries inside these folders."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(
        entry
        for entry in entries
        if Path(entry).is_absolute() and not lies_in(Path(entry), folders)
    )


def find_outside(name: str, folders: Sequence[Path]) -> Path | None:
    """Return a program on PATH that lies in none of these folders, not by a link either.

    What agent-ls starts of its own accord is looked up so: with a folder of the workspace on PATH,
    such as that of an activated ``.venv``, a command could put its own program there.
    """
    for entry in path_outside(folders).split(os.pathsep):
        found = shutil.which(name, path=entry) if entry else None
        if found and not lies_in(Path(found), folders):
            return Path(found)
    return None


def lies_in(place: Path, folders: Sequence[Path]) -> bool:
    """Say whether a path, as written or resolved, is inside one of the folders."""
    # As texts: each start of a program asks this of each folder of PATH.
    spellings = (f"{place}/", f"{os.path.realpath(place)}/")
    return any(
        one.startswith(f"{str(folder).rstrip('/')}/") for one in spellings for folder in folders
    )
