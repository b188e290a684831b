"""Finds what in a workspace is secret, and what steers programs, before and after commands.

Remembers what is in each folder, because every command waits for this twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from agent_ls.safety.control_files import NOT_WALKED, names_of, names_own, names_secret, steers

MAX_FILES = 1_000_000
_MAX_REMEMBERED = 16
"""Workspace folders whose listings are kept."""
_STORE = "store"
_SETTLED_NS = 100_000_000
"""A folder that has just changed may change again within the same tick of its time."""
_REPOSITORY = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""What git takes for a repository, whose settings it obeys, wherever it lies."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The special places in one folder, outermost first."""

    secret: tuple[Path, ...]
    steering: tuple[Path, ...]
    """Files and folders that steer editors, git, CI and agents, ours included."""
    closed: frozenset[str]
    """Folders that could not be listed."""
    stores: tuple[Path, ...] = field(default=(), compare=False)
    """Folders of third-party code, which are not looked into."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """What matters of a folder's entries, each with its name and kind."""

    stamp: tuple[int, ...]
    """Changes with the entries; empty: it cannot be relied on."""
    number: int
    """How many entries there are."""
    special: tuple[tuple[str, frozenset[str]], ...]
    below: tuple[tuple[str, frozenset[str]], ...]
    """The folders to look into."""
    stores: tuple[str, ...]
    is_repository: bool


_remembered: dict[str, dict[str, _Folder]] = {}
"""By workspace folder, and in it by path."""


def survey(root: Path, *, closed: Collection[str] | None = None) -> Survey:
    """Return the special places in a folder. Folders of third-party code are left out.

    Folders that cannot be listed are opened for their owner, but for those in ``closed``; None:
    they stay as they are.
    Errors: ``OSError`` if there is more than can be looked at.
    """
    found = dict[str, list[Path]]()
    shut = set[str]()
    for path, kind in _special(root, closed, shut):
        for one in kind:
            found.setdefault(one, []).append(Path(path))
    secret, steering, stores = (tuple(found.get(one, ())) for one in ("secret", "steering", _STORE))
    return Survey(secret, steering, frozenset(shut), stores)


def _special(
    root: Path, closed: Collection[str] | None, shut: set[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each special file and folder and what it is, unless a folder above it is the same.

    Adds the folders that cannot be listed to ``shut``. Errors: ``OSError``.
    """
    known, seen, number = _remembered.get(str(root), {}), dict[str, _Folder](), 0
    stack: list[tuple[str, tuple[str, ...], frozenset[str]]] = [(str(root), (), frozenset())]
    while stack:
        path, above, held = stack.pop()
        folder = _folder(path, above, known.get(path), closed)
        if folder is None:
            shut.add(path)
            continue
        seen[path] = folder
        number += folder.number
        if number > MAX_FILES:
            raise OSError(
                f"{root} holds more than {MAX_FILES:,} files, too many to look for what a command "
                "must not see or change"
            )
        if folder.is_repository and "steering" not in held:
            held |= {"steering"}
            yield path, frozenset({"steering"})
        for name, kind in folder.special:
            yield f"{path}/{name}", kind - held
        for name in folder.stores:
            yield f"{path}/{name}", frozenset({_STORE})
        for name, kind in folder.below:
            stack.append((f"{path}/{name}", (*above[-2:], name), held | kind))
    _remembered[str(root)] = seen
    while len(_remembered) > _MAX_REMEMBERED:
        _remembered.pop(next(iter(_remembered)), None)


def _folder(
    path: str, above: tuple[str, ...], known: _Folder | None, closed: Collection[str] | None
) -> _Folder | None:
    """Return what is in a folder, as it is known if it is the same; None if it cannot be listed."""
    stamp = stamp_of(path)
    if known is not None and stamp and known.stamp == stamp:
        return known
    entries = _listed(path, closed)
    if entries is None:
        return None
    special, below = list[tuple[str, frozenset[str]]](), list[tuple[str, frozenset[str]]]()
    stores = list[str]()
    for entry in entries:
        kind = kind_of((*above[-2:], entry.name))
        if _leads_past_survey(entry):
            kind |= {"steering"}
        if kind:
            special.append((entry.name, kind))
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in NOT_WALKED:
                below.append((entry.name, kind))
            elif entry.name != ".git":
                stores.append(entry.name)
    return _Folder(
        stamp, len(entries), tuple(special), tuple(below), tuple(stores), is_repository(entries)
    )


def stamp_of(path: str) -> tuple[int, ...]:
    """Return what changes with a folder's entries; empty if they have changed just now.

    Shape: device, inode, links, size, mode, and when it and its entries changed.
    """
    now_ns = time.time_ns()
    try:
        facts = os.lstat(path)
    except OSError:
        return ()
    if now_ns - max(facts.st_ctime_ns, facts.st_mtime_ns) < _SETTLED_NS:
        return ()
    times = (facts.st_ctime_ns, facts.st_mtime_ns)
    return (facts.st_dev, facts.st_ino, facts.st_nlink, facts.st_size, facts.st_mode, *times)


def _listed(path: str, closed: Collection[str] | None) -> list[os.DirEntry[str]] | None:
    """Return what is in a folder; None if it cannot be listed."""
    if closed is not None and path not in closed and not os.access(path, os.R_OK | os.X_OK):
        with suppress(OSError):
            os.chmod(path, 0o700)  # noqa: PTH101 - a path for each folder would cost too much
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return None


def is_repository(entries: Iterable[os.DirEntry[str]]) -> bool:
    """Say whether git takes a folder with these entries for a repository."""
    names = {entry.name.lower() for entry in entries}
    return any(names >= one for one in _REPOSITORY)


def _leads_past_survey(entry: os.DirEntry[str]) -> bool:
    """Say whether an entry is a link to a folder that is not looked into."""
    if not entry.is_symlink() or entry.name in NOT_WALKED or not entry.is_dir():
        return False
    own, real = Path(entry.path).parent, Path(os.path.realpath(entry.path))
    return not NOT_WALKED.isdisjoint(set(real.parts) - set(own.parts))


def kind_of(parts: tuple[str, ...]) -> frozenset[str]:
    """Return what a place is by its name and those of two folders above."""
    return _kind(parts) if _needs_context(parts) else _kind(parts[-1:])


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
