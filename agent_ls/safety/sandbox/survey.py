"""Finds what in a workspace is secret, and what steers programs, before a command runs in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agent_ls.safety.control_files import names_of, names_own, names_secret, steers
from agent_ls.safety.operands import NOT_WALKED

_MAX_FILES = 100_000
MAX_PLACES = 300
"""Each place costs a mount, and a fifth of a millisecond."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The special places in one folder, outermost first."""

    secret: tuple[Path, ...]
    steering: tuple[Path, ...]
    """Files and folders that steer editors, git, CI and agents, ours included."""


def survey(root: Path) -> Survey:
    """Return the special places in a folder. Folders of third-party code are left out.

    Errors: ``OSError`` if there is more than can be looked at or held.
    """
    secret, steering = list[Path](), list[Path]()
    for number, (path, parts, is_below_steering) in enumerate(_entries(root)):
        if number > _MAX_FILES:
            raise OSError(
                f"{root} holds more than {_MAX_FILES:,} files, too many to look for secrets"
            )
        kind = _kind(parts)
        if "secret" in kind:
            secret.append(path)
        if "steering" in kind and not is_below_steering:
            steering.append(path)
    if len(secret) + len(steering) > MAX_PLACES:
        raise OSError(f"{root} holds more than {MAX_PLACES} secrets and control files")
    return Survey(tuple(secret), tuple(steering))


def _entries(root: Path) -> Iterator[tuple[Path, tuple[str, ...], bool]]:
    """Yield each file and folder, its components, and whether a folder above it steers programs."""
    stack: list[tuple[Path, tuple[str, ...], bool]] = [(root, (), False)]
    while stack:
        folder, above, is_below_steering = stack.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            parts = (*above, entry.name)
            path = folder / entry.name
            yield path, parts, is_below_steering
            kind = _kind(parts)
            is_walked = entry.name not in NOT_WALKED and "secret" not in kind
            if is_walked and entry.is_dir(follow_symlinks=False):
                stack.append((path, parts, is_below_steering or "steering" in kind))


@lru_cache(maxsize=2 * _MAX_FILES)
def _kind(parts: tuple[str, ...]) -> frozenset[str]:
    """Return what a place is by its name. Cached: the same names come at every command."""
    names = names_of(parts)
    found: set[str] = set()
    if names_secret(names):
        found.add("secret")
    if names_own(names) or steers(names):
        found.add("steering")
    return frozenset(found)
