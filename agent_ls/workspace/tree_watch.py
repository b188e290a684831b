"""Detect the project files that commands change, by a look before and a look after.

Files that agents edit or the editor writes meanwhile are looked at again at once, so they count as
unchanged. Concurrent commands share one look before. The first to end reports all changes so far,
and notes that others ran. Ignored files and ``__pycache__`` are not watched. Blocking work runs in
a thread.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall
from agent_ls.workspace.ignore import MAX_FILES, at_most, walk
from agent_ls.workspace.seen_changes import FileChange, arrived, command_change, with_moves
from agent_ls.workspace.seen_files import SeenFiles, signature

CLOCK_NS = 20_000_000
"""The file system's clock, maybe on another machine, may lag by this much."""
_LINUX_COARSE = 5
"""CLOCK_REALTIME_COARSE, by which Linux dates files; Python has no name for it."""
_COMPILED = "__pycache__"

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
        self._edited = Counter[Path]()
        """Files that agents are editing now."""
        self._running: list[CommandMark] = []
        self._written: set[Path] = set()
        """Paths that the editor wrote since the look before."""
        self._unfollow: Callable[[], None] = lambda: None
        self._looking = asyncio.Lock()
        self._began_ns = 0
        """End of the look before, by the clock that dates files."""
        self._gap = ""
        self._paths: dict[str, Path] = {}
        """Path objects of the last list; making new ones would take longer than a look."""

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
        self._edited.update(places)
        try:
            yield
        finally:
            self._edited -= Counter(places)
            if self._running or self._looking.locked():
                for place in places:
                    self._take_in(place)

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return the changes since ``begin`` that were not reported yet, by path, texts first."""
        try:
            async with self._looking:
                found = await _in_thread(self._changes)
        finally:
            self._running.remove(mark)
            if not self._running:
                self._unfollow()
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
        if not place.is_dir():
            self._files.look(place, self._roots(), hashes=True)

    def _look_before(self) -> None:
        """Refresh all states before a command; changes until now were not made by it."""
        roots = self._roots()
        for path in dict.fromkeys((*self._listed(), *self._files)):
            seen, now = self._files.get(path), signature(path)
            if now != (seen and seen.signature):
                self._files.look(path, roots)
        self._began_ns = file_clock_ns()

    def _changes(self) -> list[FileChange]:
        """Look again; return the changes by path, without those of agents and the editor."""
        listed, roots = set(self._listed()), self._roots()
        found: list[FileChange] = []
        for path in listed.union(self._files):
            if path in self._edited:
                continue
            before = self._files.get(path)
            # A file that is no longer listed may be behind a link now; a look follows no links.
            if before is None or path not in listed or signature(path) != before.signature:
                after = self._files.look(path, roots, hashes=True)
                found.append(FileChange(path, before, after))
        found = [
            one
            for one in sorted(found, key=lambda one: one.path)
            # Files in a folder that the editor moved or copied were not looked at one by one.
            if not one.is_none and self._written.isdisjoint(one.path.parents)
        ]
        return arrived(found, self._began_ns - CLOCK_NS)

    def _listed(self) -> list[Path]:
        found: dict[str, Path] = {}
        self._gap = ""
        for root in self._workspace.roots:
            names = at_most(self._max_files, walk(root.path))
            if names.is_cut:
                self._gap = f"only the first {len(names):,} files of {root.name} are watched"
            for name in names:
                if _COMPILED not in name or _COMPILED not in name.split("/"):
                    place = f"{root.path}/{name}"
                    found[place] = self._paths.get(place) or root.path / name
        self._paths = found
        return list(found.values())

    def _roots(self) -> list[Path]:
        return [root.path for root in self._workspace.roots]


async def _in_thread(how: Callable[[], T]) -> T:
    # A thread continues after its caller is cancelled; wait, as no other look may run meanwhile.
    return await settled(asyncio.to_thread(how))


def file_clock_ns() -> int:
    """Return the time stamp that a file created now gets, in nanoseconds since the epoch.

    Linux uses the time of its last tick, which on a busy machine may be older than any margin.
    """
    return time.clock_gettime_ns(_LINUX_COARSE) if sys.platform == "linux" else time.time_ns()
