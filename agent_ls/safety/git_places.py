"""Finds where the repositories of a workspace keep what steers git, which then runs programs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_ls.safety.paths import real_path

_STEERING = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
"""Names in a repository's data folder. ``commondir`` says where the others lie."""
_NESTED = ("modules", "worktrees")
_NOT_WALKED = frozenset({"objects", "refs", "logs", "hooks", "info", "lfs"})
_LEADING = re.compile(r"^\s*(hookspath|path)\s*=\s*\"?([^\"\n\0#;]+)", re.IGNORECASE | re.MULTILINE)
_WORKTREE = re.compile(r"^\tworktree = (.+)$", re.MULTILINE)
_MAX_POINTER_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Repositories:
    """Where the repositories of some folders keep their data, and their top folders."""

    folders: tuple[Path, ...]
    tops: tuple[Path, ...]

    @classmethod
    def of(cls, roots: Iterable[Path]) -> Repositories:
        """Return those at or above the folders."""
        found = [pair for root in roots for pair in _repository(root)]
        return cls(tuple(folder for folder, _ in found), tuple(top for _, top in found))

    def with_nested(self, dots: Iterable[Path]) -> Repositories:
        """Return these and those whose data folder is one of these ``.git``."""
        more = [dot for dot in dots if dot not in self.folders]
        return Repositories((*self.folders, *more), (*self.tops, *(dot.parent for dot in more)))


def git_steering(folder: Path) -> Iterator[Path]:
    """Yield what exists in a data folder and steers git, also for its submodules and work trees."""
    places = [folder]
    for name in _NESTED:
        for place, below, _ in os.walk(folder / name):
            below[:] = [one for one in below if one not in _NOT_WALKED]
            places.append(Path(place))
    for place in places:
        for name in _STEERING:
            if os.path.lexists(place / name):
                yield place / name


def git_led_to(folder: Path, top: Path) -> Iterator[Path]:
    """Yield what lies elsewhere and steers git: hooks, and settings that its settings include.

    Real places, which may not exist.
    """
    hooks = folder / "hooks"
    links = [hooks, *(hooks.iterdir() if hooks.is_dir() else ())]
    yield from (real_path(one) for one in links if one.is_symlink())
    try:
        settings = (folder / "config").read_text("utf-8", "replace")
    except OSError:
        return
    for found in _LEADING.finditer(settings):
        # Hooks are looked for from the top, settings from the file that includes them.
        base = top if found[1].lower() == "hookspath" else folder
        yield real_path(base / os.path.expanduser(found[2].strip()))  # noqa: PTH111 - never raises


def _repository(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the data folder of the repository at or above a folder, and its top."""
    for top in (root, *root.parents):
        dot = top / ".git"
        if dot.is_symlink():
            return
        if dot.is_dir():
            yield dot, top
            return
        if dot.is_file():
            yield from ((common, top) for common in _common(dot))
            return


def _common(dot: Path) -> Iterator[Path]:
    """Yield the data folder of a submodule, or that a work tree shares, if it knows of this folder.

    Else a ``.git`` file that came with a download could name any folder.
    """
    own = Path(_pointer(dot).removeprefix("gitdir:").strip())
    module = Path(os.path.normpath(dot.parent / own))
    if "modules" in module.parts and _is_submodule(module, dot.parent):
        yield module.resolve()
    if (
        own.is_absolute()
        and own.parent.name == "worktrees"
        and _pointer(own / "gitdir") == str(dot)
    ):
        yield own.parent.parent.resolve()


def _is_submodule(data: Path, top: Path) -> bool:
    """Say whether a data folder in that of a repository says that its files are in this folder."""
    named = _WORKTREE.findall(_pointer(data / "config"))
    return len(named) == 1 and os.path.normpath(data / named[0]) == str(top)


def _pointer(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_POINTER_BYTES).decode(errors="replace").strip()
    except OSError:
        return ""
