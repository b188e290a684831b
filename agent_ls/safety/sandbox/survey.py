"""Finds what in a workspace is secret, steers programs or has other names, around each command.

Remembers what is in each folder, because every command waits for this twice.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from agent_ls.safety.control_files import NOT_WALKED, names_of, names_own, names_secret, steers
from agent_ls.safety.rule_limits import NO_RULES, FileRules
from agent_ls.safety.sandbox.linked_files import Linked, linked_files, links_in

MAX_FILES = 1_000_000
_MAX_REMEMBERED = 16
"""Workspace folders whose listings are kept."""
_SETTLED_NS = 100_000_000
"""A folder that has just changed may change again within the same tick of its time."""
_REPOSITORY = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""What git takes for a repository, whose settings it obeys, wherever it lies."""
_STEERING = frozenset({"steering"})
_OWN_KINDS = ("secret", "steering", "third-party")


@dataclass(frozen=True, slots=True)
class Survey:
    """The special places in one folder, outermost first."""

    secret: tuple[Path, ...]
    steering: tuple[Path, ...]
    """Files and folders that steer editors, git, CI and agents, ours included."""
    closed: frozenset[str]
    """Folders that could not be listed."""
    third_party: tuple[Path, ...] = ()
    """What steers programs in folders of third-party code."""
    ruled: Mapping[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    """What the user's rules about files cover, by their kind, such as ``deny read``."""
    rules: FileRules = NO_RULES
    linked: Mapping[str, tuple[Linked, ...] | None] = field(
        default_factory=dict[str, tuple[Linked, ...] | None], compare=False
    )
    """By folder, its files that have several names; None: it cannot be looked at."""


class _Folder(NamedTuple):
    """What matters of a folder's entries, each with its name and kind."""

    changed: tuple[int, ...]
    """Changes with the entries; empty: it cannot be relied on."""
    number: int
    """How many entries there are."""
    special: tuple[tuple[str, frozenset[str]], ...] = ()
    below: tuple[tuple[str, tuple[str, ...], frozenset[str], bool], ...] = ()
    """The folders in it: path, names, kind, and whether it is of third-party code."""
    is_repository: bool = False
    linked: tuple[Linked, ...] = ()
    """Only in third-party code, where a link that is made elsewhere is found late."""


_remembered: dict[tuple[str, FileRules], dict[str, _Folder]] = {}
"""By workspace folder and rules, and in it by path."""


def survey(
    root: Path,
    *,
    closed: Collection[str] | None = None,
    is_thorough: bool = False,
    rules: FileRules = NO_RULES,
) -> Survey:
    """Return the special places in a folder.

    ``is_thorough``: with those in third-party code, and with the files that have several names.
    ``closed``: for after a command; other folders that cannot be listed are opened for their owner,
    and files with several names are not looked for.
    Errors: ``OSError`` if there is more than can be looked at.
    """
    known, seen = _remembered.get((str(root), rules), {}), dict[str, _Folder]()
    found = defaultdict[str, list[Path]](list)
    found |= {kind: [root] for kind in rules.kinds(str(root), str(root))}
    shut, linked, numbers = set[str](), dict[str, tuple[Linked, ...] | None](), [0, 0]
    looked_at = dict[str, _Folder](), dict[str, _Folder]()
    kinds = partial(rules.kinds, root=str(root)) if rules.rules else None
    # Each command waits twice for this loop.
    known_at, lstat = known.get, os.lstat
    stack: list[tuple[str, tuple[str, ...], frozenset[str], bool]]
    stack = [(str(root), (), frozenset(), False)]
    while stack:
        path, above, held, is_store = stack.pop()
        folder = known_at(path)
        try:
            facts = lstat(path)
        except OSError:
            # It went meanwhile.
            continue
        changed = (facts.st_ctime_ns, facts.st_mtime_ns, facts.st_ino)
        if folder is None or folder.changed != changed:
            folder = _listed(path, above, changed, closed, kinds, is_store=is_store)
        numbers[is_store] += folder.number if folder is not None else 0
        if folder is None or (is_store and numbers[is_store] > MAX_FILES):
            shut.add(path)
            linked[path] = None
            continue
        if numbers[False] > MAX_FILES:
            raise OSError(
                f"{root} holds more than {MAX_FILES:,} files, too many to look for what a command "
                "must not see or change"
            )
        seen[path] = folder
        looked_at[is_store][path] = folder
        if folder.special or folder.is_repository:
            held = _add(found, path, folder, held, is_store=is_store)
        for inner, names, kind, is_third_party in folder.below:
            if is_thorough or not is_third_party:
                stack.append((inner, names, held | kind if kind else held, is_third_party))
    linked |= {path: folder.linked for path, folder in looked_at[True].items() if folder.linked}
    if is_thorough and closed is None:
        linked |= linked_files(
            root, {path: folder.number for path, folder in looked_at[False].items()}
        )
    # A quick look leaves what a thorough one knows of third-party code.
    _remember((str(root), rules), seen if is_thorough else {**known, **seen})
    secret, steering, packages = (tuple(found.pop(one, ())) for one in _OWN_KINDS)
    ruled = {kind: tuple(paths) for kind, paths in found.items()}
    return Survey(secret, steering, frozenset(shut), packages, ruled, rules, linked)


def _add(
    found: Mapping[str, list[Path]],
    path: str,
    folder: _Folder,
    held: frozenset[str],
    *,
    is_store: bool,
) -> frozenset[str]:
    """Add the special places in a folder to ``found``; return the kinds of all that is below it.

    ``held`` are the kinds of a folder above. For these, nothing below that folder is added again.
    """
    if folder.is_repository and "steering" not in held:
        held |= _STEERING
        found["third-party" if is_store else "steering"].append(Path(path))
    for name, kind in folder.special:
        for one in kind - held:
            is_package = is_store and one in _OWN_KINDS
            found["third-party" if is_package else one].append(Path(f"{path}/{name}"))
    return held


def _remember(key: tuple[str, FileRules], folders: dict[str, _Folder]) -> None:
    _remembered[key] = folders
    while len(_remembered) > _MAX_REMEMBERED:
        _remembered.pop(next(iter(_remembered)), None)


def _listed(
    path: str,
    above: tuple[str, ...],
    changed: tuple[int, ...],
    closed: Collection[str] | None,
    ruled: Callable[[str], frozenset[str]] | None,
    *,
    is_store: bool,
) -> _Folder | None:
    """Return what is in a folder that has changed then; None if it cannot be listed."""
    is_settled = time.time_ns() - max(changed[:2]) >= _SETTLED_NS
    entries = _entries(path, closed)
    if entries is None:
        return None
    special = list[tuple[str, frozenset[str]]]()
    below = list[tuple[str, tuple[str, ...], frozenset[str], bool]]()
    for entry in entries:
        names = (*above[-2:], entry.name)
        kind = _kind_of(names)
        if is_store:
            kind &= _STEERING
        elif _leads_past_survey(entry):
            kind |= _STEERING
        if ruled is not None:
            kind |= ruled(entry.path)
        if kind:
            special.append((entry.name, kind))
        if entry.is_dir(follow_symlinks=False):
            is_third_party = is_store or entry.name in NOT_WALKED
            below.append((entry.path, names, kind, is_third_party))
    return _Folder(
        changed if is_settled else (),
        len(entries),
        tuple(special),
        tuple(below),
        _is_repository(entries),
        links_in(path) if is_store else (),
    )


def _open_up(path: str) -> None:
    """Give the user the rights of a folder that a command closed; not of what a link leads to.

    Errors: ``OSError``.
    """
    if not hasattr(os, "O_PATH"):
        os.chmod(path, 0o700, follow_symlinks=False)  # noqa: PTH101 - as below
        return
    folder = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.readlink(here := f"/proc/self/fd/{folder}") == path:  # noqa: PTH115 - of a descriptor
            os.chmod(here, 0o700)  # noqa: PTH101 - likewise
    finally:
        os.close(folder)


def _entries(path: str, closed: Collection[str] | None) -> list[os.DirEntry[str]] | None:
    """Return what is in a folder; None if it cannot be listed."""
    if closed is not None and path not in closed and not os.access(path, os.R_OK | os.X_OK):
        with suppress(OSError):
            _open_up(path)
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        # It went meanwhile.
        return []
    except OSError:
        return None


def _is_repository(entries: Iterable[os.DirEntry[str]]) -> bool:
    """Say whether git takes a folder with these entries for a repository."""
    names = {entry.name.lower() for entry in entries}
    return any(names >= one for one in _REPOSITORY)


def _leads_past_survey(entry: os.DirEntry[str]) -> bool:
    """Say whether an entry is a link to a folder of third-party code."""
    if not entry.is_symlink() or entry.name in NOT_WALKED:
        return False
    try:
        if not entry.is_dir():
            return False
    except OSError:
        # A link in a circle leads nowhere.
        return False
    own, real = Path(entry.path).parent, Path(os.path.realpath(entry.path))
    return not NOT_WALKED.isdisjoint(set(real.parts) - set(own.parts))


def _kind_of(parts: tuple[str, ...]) -> frozenset[str]:
    """Return what a place is by its name and those of two folders above."""
    # Each pattern of several names starts with a dot.
    needs_context = any(
        one.startswith(".") or "~" in one or not one.isascii() for one in parts[:-1]
    )
    return _kind(parts if needs_context else parts[-1:])


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
