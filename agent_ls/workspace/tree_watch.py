"""Detect the project files that commands change, by a look before and a look after.

Files that agents edit or the editor writes meanwhile are looked at again at once, so they count as
unchanged. Concurrent commands share one look before. The first to end reports all changes so far,
and notes that others ran. Files that git tracks or that steer other programs are watched whatever
the rules say. Of other ignored files only the names are known, to tell which are gone.
``__pycache__`` is not watched. Blocking work runs in a thread.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.control_files import names_of, steers
from agent_ls.workspace.ignored_files import Entry, files_below, ignored_beside
from agent_ls.workspace.listing import MAX_FILES, list_files
from agent_ls.workspace.seen_changes import FileChange, arrived, command_change, with_moves
from agent_ls.workspace.seen_files import SeenFiles, Signature, identity, signature, signature_of

CLOCK_NS = 20_000_000
"""The file system's clock, maybe on another machine, may lag by this much."""
_LINUX_COARSE = 5
"""CLOCK_REALTIME_COARSE, by which Linux dates files; Python has no name for it."""
_COMPILED = "__pycache__"

_MAX_IGNORED = 50_000
"""Ignored files per folder whose names are known."""

T = TypeVar("T")


class TreeWatch:
    """The last seen states of all files in the open folders."""

    def __init__(self, workspace: Workspace, *, max_files: int = MAX_FILES) -> None:
        """Take the workspace and the most files to watch per folder.

        The first look happens at the first command.
        """
        self._max_files = max_files
        self._workspace = workspace
        self._files = SeenFiles()
        self._edited = Counter[str]()
        """Files that agents are editing now."""
        self._running: list[CommandMark] = []
        self._written: set[Path] = set()
        """Paths that the editor wrote since the look before."""
        self._unfollow: Callable[[], None] = lambda: None
        self._looking = asyncio.Lock()
        self._began_ns = 0
        """End of the look before, by the clock that dates files."""
        self._gap = ""
        self._ignored: dict[str, Signature] = {}
        """Ignored files and folders before the commands, by path; folders end with a slash."""

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        """Look before a command; None if the command only reads and needs no second look."""
        if planned.reads_only:
            return None
        async with self._looking:
            if not self._running:
                self._written.clear()
                # Follow the editor first: its writes during the look may be missed by the look.
                self._unfollow = self._workspace.follow_editor(self._on_written)
                try:
                    await _in_thread(self._look_before)
                except BaseException:
                    self._unfollow()
                    raise
            mark = CommandMark(gap=self._gap)
            self._running.append(mark)
            if len(self._running) > 1:
                for one in self._running:
                    one.is_alone = False
        return mark

    @contextmanager
    def editing(self, paths: Iterable[str]) -> Generator[None]:
        """Mark files as edited by an agent, so that their changes count for no command."""
        places: list[Path] = []
        for path in paths:
            with suppress(WorkspaceError):
                places.append(self._workspace.locate(path)[1])
        self._edited.update(map(str, places))
        try:
            yield
        finally:
            self._edited -= Counter(map(str, places))
            if self._running or self._looking.locked():
                for place in places:
                    self._take_in(place)

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return the changes since ``begin`` that were not reported yet, by path, texts first."""
        try:
            async with self._looking:
                found = await _in_thread(self._changes)
                gone = await _in_thread(self._ignored_gone)
        finally:
            self._running.remove(mark)
            if not self._running:
                self._unfollow()
        mark.ignored_gone += [
            shown + "/" * path.endswith("/")
            for path in gone
            if (shown := self._workspace.shown(Path(path))) is not None
        ]
        known, moved = with_moves(found)
        if not mark.is_alone and known:
            mark.notes.append(
                "other commands ran at the same time and may have made some of these changes"
            )
        changes = [
            command_change(shown, one, self._workspace.shown(moved.get(one.path, one.path)) or "")
            for one in known
            if (shown := self._workspace.shown(one.path)) is not None
        ]
        return tuple(sorted(changes, key=lambda one: one.images is not None))

    def _on_written(self, place: Path) -> None:
        """Record that the editor wrote, created, moved or deleted a file or folder."""
        self._written.add(place)
        self._take_in(place)

    def _take_in(self, place: Path) -> None:
        """Look at a file again, so that its current state counts as the state before."""
        self._ignored.pop(str(place), None)
        if not place.is_dir():
            for _ in self._files.look([str(place)], self._roots(), hashes=True):
                pass

    def _look_before(self) -> None:
        """Refresh all states before a command; changes until now were not made by it."""
        self._ignored = {}
        ignored = dict[Path, list[Entry]]()
        changed, unlisted = self._differing(ignored)
        for root, entries in ignored.items():
            self._ignored |= _signatures(root, entries)
        changed += [path for path in unlisted if signature(path) != self._files.signature(path)]
        for _ in self._files.look(changed, self._roots()):
            pass
        for path in self._files:
            # One that git tracks, or that a rule excludes only now: it can come back.
            self._ignored.pop(path, None)
        self._began_ns = file_clock_ns()

    def _changes(self) -> list[FileChange]:
        """Look again; return the changes by path, without those of agents and the editor."""
        changed, unlisted = self._differing()
        # A file that is no longer listed may be behind a link now; a look follows no links.
        paths = (path for path in (*changed, *unlisted) if path not in self._edited)
        looks = self._files.look(paths, self._roots(), hashes=True)
        found = [FileChange(Path(path), *states) for path, *states in looks]
        found = [
            one
            for one in sorted(found, key=lambda one: one.path)
            # Files in a folder that the editor moved or copied were not looked at one by one.
            if not one.is_none and self._written.isdisjoint(one.path.parents)
        ]
        return arrived(found, self._began_ns - CLOCK_NS)

    def _ignored_gone(self) -> list[str]:
        """Return the ignored files that are gone since the look before, and were not moved."""
        gone = [
            path
            for path in self._ignored
            if not os.path.lexists(path)
            and path not in self._edited
            and self._written.isdisjoint((Path(path), *Path(path).parents))
        ]
        if not gone:
            return []
        lost = {path: self._ignored.pop(path) for path in gone}
        ignored = dict[Path, list[Entry]]()
        there = {identity(now) for _, now in self._listed(ignored)}
        for root, entries in ignored.items():
            there |= {identity(one) for one in _signatures(root, entries).values()}
        return [path for path, before in lost.items() if identity(before) not in there]

    def _differing(
        self, ignored: dict[Path, list[Entry]] | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the files that are not as last seen, and those seen that are not listed now.

        Adds what is ignored in each folder to ``ignored``.
        """
        listed, changed = set[str](), list[str]()
        for path, now in self._listed(ignored):
            listed.add(path)
            if now != self._files.signature(path):
                changed.append(path)
        return changed, [path for path in self._files if path not in listed]

    def _listed(
        self, ignored: dict[Path, list[Entry]] | None = None
    ) -> Iterator[tuple[str, Signature]]:
        """Yield the files of all folders with their signatures; sets ``_gap``."""
        self._gap = ""
        for root in self._workspace.roots:
            found = list_files(root.path, self._roots(), max_files=self._max_files)
            if found.is_cut:
                number = len(found.walked)
                self._gap = f"only the first {number:,} files of {root.name} are watched"
            names = {*found.walked, *found.tracked, *found.hidden}
            left = ignored_beside(root.path, names)
            if ignored is not None:
                ignored[root.path] = left
            names.update(name for name, _ in files_below(one for one in left if _steers(one[0])))
            front = f"{root.path.as_posix().rstrip('/')}/"
            for name in sorted(names):
                if _COMPILED in name and _COMPILED in name.split("/"):
                    continue
                if (now := signature(front + name)) is not None:
                    yield front + name, now

    def _roots(self) -> list[Path]:
        return [root.path for root in self._workspace.roots]


def _steers(name: str) -> bool:
    """Say whether an ignored file or folder steers other programs, so that it is watched too."""
    return bool(steers(names_of(PurePosixPath(name).parts)))


def _signatures(root: Path, ignored: Iterable[Entry]) -> dict[str, Signature]:
    """Return the ignored files of a folder by their absolute paths, up to a limit."""
    found = dict[str, Signature]()
    for name, entry in islice(files_below(ignored), _MAX_IGNORED):
        with suppress(OSError):
            found[f"{root}/{name}"] = signature_of(entry.stat(follow_symlinks=False))
    return found


async def _in_thread(how: Callable[[], T]) -> T:
    # A thread continues after its caller is cancelled; wait, as no other look may run meanwhile.
    return await settled(asyncio.to_thread(how))


def file_clock_ns() -> int:
    """Return the time stamp that a file created now gets, in nanoseconds since the epoch.

    Linux uses the time of its last tick, which on a busy machine may be older than any margin.
    """
    return time.clock_gettime_ns(_LINUX_COARSE) if sys.platform == "linux" else time.time_ns()
