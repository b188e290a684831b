"""Finds where the repositories of a workspace keep what steers git, which then runs programs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_ls.safety.paths import real_path

_STEERING = ("hooks", "config", "config.worktree", "commondir", "info/attributes")
"""Names in a repository's data folder. ``commondir`` says where the others lie."""
REBASE_STEPS = "rebase-merge/git-rebase-todo"
"""Names in a data folder what is left of a rebase, which may run programs. It is watched and not
held: a command may go on with the rebase."""
_NESTED = ("modules", "worktrees")
_NOT_WALKED = frozenset({"objects", "refs", "logs", "hooks", "info", "lfs"})
_LEADING = re.compile(
    r"^\s*(?:\[[^\]\n]*\]\s*)?(hookspath|path)\s*=\s*\"?([^\"\n\0#;]+)",
    re.IGNORECASE | re.MULTILINE,
)
_WORKTREE = re.compile(r"^\tworktree = (.+)$", re.MULTILINE)
_MAX_POINTER_BYTES = 4_096
_MAX_SETTINGS_BYTES = 2**20
_MAX_INCLUDED = 50


@dataclass(frozen=True, slots=True)
class Repositories:
    """The repositories of some folders: where each keeps its data, and a top folder of it."""

    places: tuple[tuple[Path, Path], ...]
    """Data folder and top folder. Work trees share a data folder."""

    @classmethod
    def of(cls, roots: Iterable[Path]) -> Repositories:
        """Return those at or above the folders."""
        return cls(tuple(pair for root in roots for pair in _repository(root)))

    def with_nested(self, dots: Iterable[Path]) -> Repositories:
        """Return these and those of further ``.git`` folders and files."""
        more = (pair for dot in dots for pair in repositories_at(dot))
        return Repositories(tuple(dict.fromkeys((*self.places, *more))))

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the data folders, each once."""
        return tuple(dict.fromkeys(folder for folder, _ in self.places))

    @property
    def tops(self) -> tuple[Path, ...]:
        """Return the top folders, each once."""
        return tuple(dict.fromkeys(top for _, top in self.places))


def git_steering(folder: Path) -> Iterator[Path]:
    """Yield what exists in a data folder and steers git, also for its submodules and work trees."""
    return _existing(folder, _STEERING)


def rebase_steps(folder: Path) -> Iterator[Path]:
    """Yield the lists of what is left of rebases, of submodules and work trees, too."""
    return _existing(folder, (REBASE_STEPS,))


def _existing(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    places = [folder]
    for name in _NESTED:
        for place, below, _ in os.walk(folder / name):
            below[:] = [one for one in below if one not in _NOT_WALKED]
            places.append(Path(place))
    for place in places:
        for name in names:
            if os.path.lexists(place / name):
                yield place / name


def git_led_to(folder: Path, top: Path) -> Iterator[Path]:
    """Yield what lies elsewhere and steers git: hooks, and settings that its settings include.

    Real places, which may not exist.
    """
    hooks = folder / "hooks"
    links = [hooks, *(hooks.iterdir() if hooks.is_dir() else ())]
    yield from (real_path(one) for one in links if one.is_symlink())
    settings, at = [folder / "config", folder / "config.worktree"], 0
    while at < min(len(settings), _MAX_INCLUDED):
        for found in _LEADING.finditer(_text(settings[at], _MAX_SETTINGS_BYTES)):
            # Hooks are looked for from the top, settings from the file that includes them.
            are_hooks = found[1].lower() == "hookspath"
            base, named = top if are_hooks else settings[at].parent, found[2].strip()
            place = real_path(base / os.path.expanduser(named))  # noqa: PTH111 - never raises
            yield place
            if not are_hooks and place not in settings:
                settings.append(place)
        at += 1


def data_folder(dot: Path) -> Path:
    """Return the data folder that a ``.git`` names: itself, or what the file says.

    It may not exist, and may not know of this ``.git``.
    """
    return dot if dot.is_dir() else _named_in(dot, "gitdir:")


def top_of(folder: Path) -> Path | None:
    """Return the top folder of the repository at or above a folder; None without one."""
    return next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)


def _repository(root: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the data folder of the repository at or above a folder, and its top."""
    top = top_of(root)
    if top is not None:
        yield from repositories_at(top / ".git")


def repositories_at(dot: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the data folder that a ``.git`` leads to, and the top; nothing for a link."""
    if dot.is_symlink():
        return
    if dot.is_dir():
        yield dot, dot.parent
    elif dot.is_file():
        yield from ((common, dot.parent) for common in _common(dot))


def _common(dot: Path) -> Iterator[Path]:
    """Yield the data folder that a ``.git`` file leads to, or that its work tree shares.

    It is yielded if it knows of this folder or lies in it. Else a ``.git`` file that came with a
    download could name any folder.
    """
    own = data_folder(dot)
    if "modules" in own.parts and _is_submodule(own, dot.parent):
        yield real_path(own)
    elif own.parent.name == "worktrees" and _named_in(own / "gitdir") == dot:
        # Through a link, the path could lead to any folder that holds the work tree.
        common = real_path(own.parent.parent)
        if all((common / name).exists() for name in ("HEAD", "config", "objects")):
            yield common
    elif dot.parent in real_path(own).parents and (own / "HEAD").is_file():
        yield real_path(own)


def _is_submodule(data: Path, top: Path) -> bool:
    """Say whether a data folder in that of a repository says that its files are in this folder."""
    named = _WORKTREE.findall(_pointer(data / "config"))
    return len(named) == 1 and os.path.normpath(data / named[0]) == str(top)


def _named_in(file: Path, front: str = "") -> Path:
    """Return the path in a file of git, which may be relative to the file's folder."""
    return Path(os.path.normpath(file.parent / _pointer(file).removeprefix(front).strip()))


def _pointer(file: Path) -> str:
    text = _text(file, _MAX_POINTER_BYTES).strip()
    return "" if "\0" in text else text


def _text(file: Path, most_bytes: int) -> str:
    """Return the beginning of a file; empty for what is none: a pipe would be waited for."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as opened:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return opened.read(most_bytes).decode(errors="replace") if is_file else ""
