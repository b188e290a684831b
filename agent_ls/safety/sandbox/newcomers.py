"""Finds what commands made that other programs of the user act on, outside of every sandbox.

That is a repository in any folder, an ``.envrc``, an editor's tasks and so on. It stays where it
is, and waits for the user unless the user approved the command. What git makes by itself and runs
nothing does not count, nor do copies of files that were there.
"""

from __future__ import annotations

import filecmp
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent_ls.domain.errors import SettingsError
from agent_ls.safety.control_files import NOT_WALKED, names_of, names_own, steers
from agent_ls.safety.git_made import is_made_by_git, running_steps
from agent_ls.safety.git_places import Repositories, git_led_to, git_steering, rebase_steps
from agent_ls.safety.made_files import MadeFiles, shown
from agent_ls.safety.sandbox.survey import Survey, survey

_log = logging.getLogger(__name__)
_MAX_NAMED = 20
_THIRD_PARTY = NOT_WALKED - {".git"}
_RULED = ("deny edit", "ask edit")
_Entry = tuple[Path, str]
"""A path, and what else of it a command can change: a link's target, a work tree's content. Or the
kind of rule that is about it."""


@dataclass(slots=True, eq=False)
class Newcomers:
    """Compares the folders before and after commands.

    Commands that overlap are checked together when the last of them ends, and count as approved
    only if each was. Beside background programs, the end of the last other command is checked too.
    """

    made: MadeFiles
    """Remembers what nobody approved."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _running: int = 0
    _going_on: int = 0
    """Those of them that go on beside later commands."""
    _before: list[_Watched] = field(default_factory=list["_Watched"])
    _repositories: tuple[tuple[Path, Path], ...] = ()
    _roots: tuple[Path, ...] = ()
    _known: frozenset[Path] = frozenset()
    _trees: frozenset[Path] = frozenset()
    _is_approved: bool = True
    _has_network: bool = False

    def begin(
        self,
        surveys: Mapping[Path, Survey],
        repositories: Repositories,
        trees: Collection[Path],
        *,
        is_approved: bool,
        has_network: bool,
        goes_on: bool = False,
    ) -> None:
        """Take in a command that starts, and what was in each folder before.

        The command may remove the linked work ``trees``, so what they hold is not protected.
        """
        with self._lock:
            if not self._running:
                self._roots, self._trees = tuple(surveys), frozenset(trees)
                self._known = frozenset(path for one in surveys.values() for path in one.steering)
                self._before = [
                    _Watched(
                        root,
                        partial(_look_again, root, one, self._trees),
                        _all_entries(one, self._trees),
                    )
                    for root, one in surveys.items()
                ]
                self._repositories = ()
                self._is_approved, self._has_network = True, False
            # Also those of a command that begins while others run.
            for place in repositories.places:
                if place not in self._repositories:
                    self._before += _of_repository(*place, surveys)
                    self._repositories += (place,)
            self._running += 1
            self._going_on += goes_on
            self._is_approved &= is_approved
            self._has_network |= has_network

    def is_new(self, path: Path) -> bool:
        """Say whether a path may be new since the running commands began."""
        is_inside = bool(self._running) and any(map(path.is_relative_to, self._roots))
        return is_inside and self._known.isdisjoint((path, *path.parents))

    def end(self, *, has_gone_on: bool = False) -> list[str]:
        """Look once nothing but background programs runs.

        Return what to tell the model and the user, a line each.
        """
        with self._lock:
            self._running -= 1
            self._going_on -= has_gone_on
            if self._running > self._going_on:
                return []
            return [note for one in self._before for note in self._looked(one)]

    def _looked(self, watched: _Watched) -> list[str]:
        """Look, so that what one folder does wrong hides no other one."""
        try:
            return self._look(watched)
        except (OSError, ValueError) as error:
            _log.exception("%s: not checked", watched.root)
            return [
                f"sandbox: {watched.root} was not checked for new files that other programs act "
                f"on: {error}. Look there before you use it"
            ]

    def _look(self, watched: _Watched) -> list[str]:
        root, found = watched.root, watched.look()
        new = found - watched.known
        steering = {
            _decisive(path, root)
            for path, what in new
            if what not in _RULED
            and not is_made_by_git(path, [folder for folder, _ in self._repositories])
            and not self._is_expected(path, watched)
        }
        ruled = {path for path, what in new if what in _RULED} - steering
        # The next look tells only what is newer.
        watched.known = found
        self._known |= {path for path, _ in new}
        return [
            *self._told("other programs act on it", sorted(steering), root),
            *self._told("a rule of the user is about it", sorted(ruled), root),
        ]

    def _told(self, why: str, paths: list[Path], root: Path) -> list[str]:
        """Remember what waits for the user; say what to tell of it."""
        if not paths:
            return []
        named = f"new here, and {why}: {_named(paths, root)}"
        if self._is_approved:
            return [named]
        _log.warning("%s: %s", root, named)
        try:
            self.made.add({path: self._folder_of(path) for path in paths})
        except SettingsError as error:
            return [f"{named}. {error}"]
        return [f"{named}. It stays, and counts for nothing of agent-ls until the user keeps it"]

    def _is_expected(self, path: Path, watched: _Watched) -> bool:
        """Say whether it is a copy, or came with a package over the network.

        Packages hold files such as ``.npmrc`` by the thousand, but no repositories.
        """
        parts = path.relative_to(watched.root).parts
        if not _THIRD_PARTY.isdisjoint(parts[:-1]):
            return self._has_network and path.name != ".git" and bool(steers(names_of(parts)))
        # Only what no command could change is worth comparing with, and what the user kept.
        kept = (one for one, _ in watched.known if one in self._known)
        return any(not self.made.is_undecided(one) for one in _copied(path, kept))

    def _folder_of(self, path: Path) -> Path:
        return next((one for one in self._roots if path.is_relative_to(one)), self._roots[0])


@dataclass(slots=True)
class _Watched:
    """A folder, and what in it steered programs before the commands."""

    root: Path
    look: Callable[[], frozenset[_Entry]]
    known: frozenset[_Entry]


def _look_again(root: Path, before: Survey, trees: Collection[Path]) -> frozenset[_Entry]:
    found = survey(root, closed=before.closed, is_thorough=True, rules=before.rules)
    return _all_entries(found, trees)


def _of_repository(folder: Path, top: Path, roots: Iterable[Path]) -> list[_Watched]:
    """Return what to watch of a data folder: what steers git in it, and where that leads."""
    above = next((one for one in roots if top.is_relative_to(one)), top)
    # A work tree's data lie outside of it.
    root = above if folder.is_relative_to(above) else folder.parent

    def steering() -> frozenset[_Entry]:
        steps = ((path, step) for path in rebase_steps(folder) for step in running_steps(path))
        return _entries(git_steering(folder), ()) | frozenset(steps)

    def led_to() -> frozenset[_Entry]:
        led = (one for one in git_led_to(folder, top) if one.is_relative_to(top))
        return _entries((one for one in led if one.exists()), ())

    return [_Watched(place, look, look()) for place, look in ((root, steering), (above, led_to))]


def _copied(path: Path, known: Iterable[Path]) -> Iterator[Path]:
    """Yield what has the same name and holds the same, of what steered programs before.

    As in a work tree or a clone: git would take them for deleted.
    """
    alike = (one for one in known if one.name == path.name and one != path)
    return (one for one in alike if _is_equal(path, one))


def _is_equal(path: Path, other: Path) -> bool:
    """Say whether both are equal files, or folders of equal files without links."""
    try:
        if path.is_symlink() or other.is_symlink():
            return False
        if path.is_dir() and other.is_dir():
            names = sorted(one.name for one in path.iterdir())
            are_same = names == sorted(one.name for one in other.iterdir())
            return are_same and all(_is_equal(path / name, other / name) for name in names)
        return path.is_file() and other.is_file() and filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False


def _decisive(path: Path, root: Path) -> Path:
    """Return what makes it steer: itself, or the file without which a folder is no repository."""
    names = names_of(path.relative_to(root).parts)
    if steers(names) or names_own(names) or not path.is_dir() or path.is_symlink():
        return path
    return next((one for one in path.iterdir() if one.name.lower() == "head"), path)


def _entries(steering: Iterable[Path], trees: Collection[Path]) -> frozenset[_Entry]:
    return frozenset((path, _changeable(path, trees)) for path in steering)


def _all_entries(found: Survey, trees: Collection[Path]) -> frozenset[_Entry]:
    others = {(path, "") for path in found.third_party}
    ruled = {(path, kind) for kind in _RULED for path in found.ruled.get(kind, ())}
    return _entries(found.steering, trees) | others | ruled


def _changeable(path: Path, trees: Collection[Path]) -> str:
    """Return what a command can change of something that steers programs; mostly nothing."""
    try:
        if path.is_symlink():
            return str(path.readlink())
        if path.name != "commondir" and not any(map(path.is_relative_to, trees)):
            return ""
        digest = hashlib.sha256()
        for file in sorted((path, *path.rglob("*")) if path.is_dir() else (path,)):
            is_link = file.is_symlink()
            held = os.fsencode(file.readlink()) if is_link else file.is_file() and file.read_bytes()
            digest.update(b"%s\0%s\0" % (os.fsencode(file), held or b""))
        return digest.hexdigest()
    except OSError:
        return ""


def _named(paths: list[Path], root: Path) -> str:
    names = [shown(path, root) for path in paths[:_MAX_NAMED]]
    rest = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return ", ".join(names) + rest
