"""Finds the program behind a name, and refuses programs that the workspace controls."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from agent_ls.safety.flags import MustAskError, words
from agent_ls.safety.operands import Reach
from agent_ls.safety.paths import real_path
from agent_ls.safety.read_only import BUILTINS

VERSION_OPTIONS = ("--version", "-V", "-v", "-version", "version")
_SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/bin", "/sbin", "/opt", "/nix")))


_SHORT_VERSION = {
    "-v": words("node npm perl ruby make gmake tmux"),
    "-V": words("python python3 tmux rg curl wget psql ruff uv pip pip3"),
    "version": words("go"),
}
"""Programs for which this option only prints the version."""


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
    spellings = (place, place.resolve())
    return any(one == folder or folder in one.parents for one in spellings for folder in folders)


def check_command(name: str, reach: Reach) -> None:
    """Refuse as ``check_program`` does, except for builtins of the shell."""
    if name not in BUILTINS:
        check_program(name, reach)


def check_program(name: str, reach: Reach) -> None:
    """Refuse a program in the workspace, or one that the workspace's version files select."""
    if "/" in name:
        raise MustAskError("the program is named by a path")
    found = shutil.which(name, path=child_path())
    if found is None:
        return
    real = real_path(Path(found))
    if reach.holds(Path(found)) or reach.holds(real):
        raise MustAskError(f"{name} is a program of the workspace")
    is_shim = "shims" in (*Path(found).parts, *real.parts) or "shim" in real.name
    if is_shim and not _is_pyenv(found, reach):
        raise MustAskError(f"which {name} runs is chosen by the workspace")


def check_version(name: str, option: str, reach: Reach) -> None:
    """Refuse options with another meaning, and programs that a version file may replace."""
    if option in _SHORT_VERSION and name not in _SHORT_VERSION[option]:
        raise MustAskError(f"{name} {option} is more than a question for the version")
    found = shutil.which(name, path=child_path())
    if found is None or _is_pyenv(found, reach):
        return
    real = real_path(Path(found))
    if not any(real.is_relative_to(folder) for folder in _SYSTEM_FOLDERS):
        raise MustAskError(f"{name} is not installed with the system")


def _is_pyenv(found: str, reach: Reach) -> bool:
    """Say whether it is pyenv's Python, and no file around the folder chooses another one."""
    chosen = any(
        (top / ".python-version").exists() for top in (reach.folder, *reach.folder.parents)
    )
    return Path(found).parts[-3:-1] == (".pyenv", "shims") and not chosen
