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
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Root, Workspace
from agent_ls.loop.shielding import settled
from agent_ls.workspace.folder_look import FolderLook, Look
from agent_ls.workspace.git_blobs import clean_files, contents
from agent_ls.workspace.ignored_files import Entry, files_below
from agent_ls.workspace.listing import MAX_FILES
from agent_ls.workspace.seen_changes import FileChange, arrived, command_change, with_moves
from agent_ls.workspace.seen_files import (
    SeenFiles,
    Signature,
    file_clock_ns,
    identity,
    signature,
    signature_of,
)

CLOCK_NS = 20_000_000
"""The file system's clock, maybe on another machine, may lag by this much."""
_MANY = 2_000
"""Where more files were not seen before, git is asked for those that it holds."""
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
        self._folders: dict[Path, FolderLook] = {}
        self._linked: set[str] = set()
        """Files that had several names (hard links) at a look."""
        self._beside: dict[Path, list[Entry]] = {}
        """What was ignored in each folder at the last look."""
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
        changed, unlisted = self._differing()
        for root, entries in self._beside.items():
            self._ignored |= _signatures(root, entries)
        read = list(self._not_in_git(changed) if len(changed) > _MANY else changed)
        read += [path for path in unlisted if signature(path) != self._files.signature(path)]
        for _ in self._files.look(read, self._roots()):
            pass
        for path in [path for path in self._ignored if self._files.signature(path)]:
            # One that git tracks, or that a rule excludes only now: it can come back.
            del self._ignored[path]
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
            for one in sorted(self._with_blobs(found), key=lambda one: one.path)
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
        there = {identity(one) for one in map(self._files.signature, self._files) if one}
        for root, entries in self._beside.items():
            there |= {identity(one) for one in _signatures(root, entries).values()}
        return [path for path, before in lost.items() if identity(before) not in there]

    def _not_in_git(self, changed: Mapping[str, Signature]) -> Iterator[str]:
        """Yield the files that have to be read; of others git holds what was in them."""
        roots = self._roots()
        held = set[str]()
        for root in roots:
            front = f"{root.as_posix().rstrip('/')}/"
            for name, blob in clean_files(root, roots).items():
                now = changed.get(path := front + name)
                if now is not None and self._files.take_unread(path, now, blob):
                    held.add(path)
        yield from (path for path in changed if path not in held)

    def _with_blobs(self, found: Sequence[FileChange]) -> list[FileChange]:
        """Return the changes with what git held of files that were not read."""
        roots = self._roots()
        held = dict[str, bytes]()
        for root in roots:
            wanted = [
                one.before.blob
                for one in found
                if one.before and one.before.blob and one.path.is_relative_to(root)
            ]
            if wanted:
                held |= contents(root, roots, wanted)
        return [
            replace(one, before=one.before.with_data(held.get(one.before.blob.oid)))
            if one.before and one.before.blob
            else one
            for one in found
        ]

    def _differing(self) -> tuple[dict[str, Signature], list[str]]:
        """Return the files that are not as last seen, and those seen that are not listed now."""
        listed, whole = set[str](), list[str]()
        changed, unlisted = dict[str, Signature](), set[str]()
        self._gap, self._beside = "", {}
        for root in self._workspace.roots:
            front = f"{root.path.as_posix().rstrip('/')}/"
            look, states = self._look_at(root, front)
            if look.is_whole:
                whole.append(front)
                listed.update(states)
            self._gap = look.gap or self._gap
            self._beside[root.path] = look.beside
            for path, now in states.items():
                if now != self._files.signature(path):
                    changed[path] = now
            unlisted.update(front + name for name in (look.listed | look.others))
            unlisted.difference_update(states)
        if whole:
            fronts = tuple(whole)
            unlisted.update(path for path in self._files if path.startswith(fronts))
        gone = [path for path in sorted(unlisted - listed) if self._files.signature(path)]
        return changed, gone

    def _look_at(self, root: Root, front: str) -> tuple[Look, dict[str, Signature]]:
        """Return what may have changed in a folder, and the watched files that are there."""
        if root.path not in self._folders:
            self._folders[root.path] = FolderLook(root.path, root.name, self._max_files)
        folder, roots = self._folders[root.path], self._roots()
        look, number = folder.look(roots), len(self._linked)
        # A change under one name of a file gives no event for the others.
        linked = {path for path in self._linked if path.startswith(front)}
        paths = sorted(linked.union(front + name for name in look.listed))
        states = self._states(paths)
        if not look.is_whole and len(self._linked) > number:
            look = folder.look(roots, is_whole=True)
            states = self._states(sorted(front + name for name in look.listed))
        return look, states

    def _states(self, paths: Iterable[str]) -> dict[str, Signature]:
        """Return the signatures of the files that are there; remembers those with more names."""
        found = dict[str, Signature]()
        for path in paths:
            with suppress(OSError):
                facts = os.lstat(path)
                if stat.S_ISREG(facts.st_mode):
                    found[path] = signature_of(facts)
                    if facts.st_nlink > 1:
                        self._linked.add(path)
        return found

    def _roots(self) -> list[Path]:
        return [root.path for root in self._workspace.roots]


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
