"""Finds what in a workspace is secret, and what steers programs, before and after commands."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agent_ls.safety.control_files import names_of, names_own, names_secret, steers
from agent_ls.safety.operands import NOT_WALKED

_MAX_FILES = 1_000_000
_REPOSITORY = frozenset({"head", "objects", "refs"})
"""What git takes for a repository, whose settings it obeys, wherever it lies."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The special places in one folder, outermost first."""

    secret: tuple[Path, ...]
    steering: tuple[Path, ...]
    """Files and folders that steer editors, git, CI and agents, ours included."""
    closed: frozenset[str]
    """Folders that could not be listed."""


def survey(root: Path, *, closed: Collection[str] | None = None) -> Survey:
    """Return the special places in a folder. Folders of third-party code are left out.

    Folders that cannot be listed are opened for their owner, but for those in ``closed``; None:
    they stay as they are.
    Errors: ``OSError`` if there is more than can be looked at.
    """
    secret, steering, shut = list[Path](), list[Path](), set[str]()
    for number, (path, kind) in enumerate(_entries(root, closed, shut)):
        if number > _MAX_FILES:
            raise OSError(
                f"{root} holds more than {_MAX_FILES:,} files, too many to look for what a command "
                "must not see or change"
            )
        if "secret" in kind:
            secret.append(Path(path))
        if "steering" in kind:
            steering.append(Path(path))
    return Survey(tuple(secret), tuple(steering), frozenset(shut))


def _entries(
    root: Path, closed: Collection[str] | None, shut: set[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each file and folder and what it is, unless a folder above it is the same already.

    Adds the folders that cannot be listed to ``shut``.
    """
    stack: list[tuple[str, tuple[str, ...], frozenset[str]]] = [(str(root), (), frozenset())]
    while stack:
        folder, above, held = stack.pop()
        entries = _listed(folder, closed)
        if entries is None:
            shut.add(folder)
            continue
        if "steering" not in held and _is_repository(entries):
            held |= {"steering"}
            yield folder, frozenset({"steering"})
        for entry in entries:
            parts = (*above[-2:], entry.name)
            kind = _kind(parts) if _needs_context(parts) else _kind((entry.name,))
            yield entry.path, kind - held
            if entry.name not in NOT_WALKED and entry.is_dir(follow_symlinks=False):
                stack.append((entry.path, parts, held | kind))


def _listed(folder: str, closed: Collection[str] | None) -> list[os.DirEntry[str]] | None:
    """Return what is in a folder; None if it cannot be listed."""
    if closed is not None and folder not in closed and not os.access(folder, os.R_OK | os.X_OK):
        with suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101 - a path for each folder would cost too much
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return None


def _is_repository(entries: Iterable[os.DirEntry[str]]) -> bool:
    return {entry.name.lower() for entry in entries} >= _REPOSITORY


def _needs_context(parts: tuple[str, ...]) -> bool:
    """Say whether the folders above can matter: each pattern of several names starts with a dot."""
    return any(one.startswith(".") or "~" in one or not one.isascii() for one in parts[:-1])


@lru_cache(maxsize=200_000)
def _kind(parts: tuple[str, ...]) -> frozenset[str]:
    """Return what a place is by its name. Cached: the same names come at every command."""
    names = names_of(parts)
    found: set[str] = set()
    if names_secret(names):
        found.add("secret")
    if names_own(names) or steers(names):
        found.add("steering")
    return frozenset(found)
