"""Sees what commands change: files of the project, before and after, by a look around each command.

What ignore rules leave out is not looked at, nor what Python compiles beside its sources. Blocking
work runs in a thread.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import EditorSteps, Workspace
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall
from agent_ls.workspace.agent_edits import AgentEdits
from agent_ls.workspace.arrivals import Arrivals
from agent_ls.workspace.editors_part import EditorsPart, FileChange
from agent_ls.workspace.ignore import MAX_FILES, at_most, walk
from agent_ls.workspace.moved_files import with_moves
from agent_ls.workspace.seen_files import Seen, SeenFiles, Signature, signature

CLOCK_NS = 20_000_000
"""The clock of a file system, on another machine perhaps, may be that much behind."""
_LINUX_COARSE = 5
"""The number of the clock by which Linux dates files; Python has no name for it."""
_COMPILED = "__pycache__"
_LOOKS = 3
"""Of a file that is open in the editor and is not as that left it, so far as is told."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class _Running(CommandMark):
    """A command that runs."""

    unsaved: frozenset[Path]
    """The files of which the editor had another text when one began to look."""
    steps: EditorSteps
    """What the editor has done since."""
    left: frozenset[tuple[Path, Signature | None]]
    """How files were by then that older commands had changed, which are to tell of it."""
    folders: frozenset[Path]
    """Those in which a file was known by then."""


class TreeWatch:
    """What the files of the open folders held when they were last looked at."""

    def __init__(self, workspace: Workspace, *, max_files: int = MAX_FILES) -> None:
        """Take whose folders are watched, and how many files of each at most; the first look comes
        with the first command.
        """
        self._max_files = max_files
        self._workspace = workspace
        self._files = SeenFiles()
        self._edits = AgentEdits()
        self._running: list[_Running] = []
        """In the order of their beginnings."""
        self._looking = asyncio.Lock()
        self._gap = ""
        self._paths: dict[str, Path] = {}
        """Those of the last list: to make and to compare others takes longer than to look."""

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        """Look before a command; None for one that plainly only reads, and needs no second look."""
        if planned.reads_only:
            return None
        async with self._looking:
            # What the editor does while the files are looked at may be seen or not.
            own_ns, steps = time.time_ns(), self._workspace.follow_editor()
            try:
                dirty = await self._workspace.dirty()
                unsaved = frozenset(self._workspace.locate(one.path)[1] for one in dirty)
                seen = await _in_thread(self._look_before)
            except BaseException:
                steps.end()
                raise
            mark = _Running(own_ns, file_clock_ns(), unsaved, steps, *seen, gap=self._gap)
            self._running.append(mark)
        return mark

    def editing(self, paths: Iterable[str]) -> AbstractContextManager[None]:
        """Know that an agent edits these files: what becomes of them is no command's doing."""
        places: list[Path] = []
        for path in paths:
            with suppress(WorkspaceError):
                places.append(self._workspace.locate(path)[1])
        return self._edits.under_way(places)

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return what has changed since ``begin``, by path, texts first."""
        running = next(one for one in self._running if one is mark)
        try:
            async with self._looking:
                found = await _in_thread(lambda: self._changes(running))
            others = await self._without_editor(running, found)
        finally:
            self._running.remove(running)
            running.steps.end()
        linked, moved = await _in_thread(lambda: with_moves(others))
        changes = [
            _change(shown, one, self._workspace.shown(moved.get(one.path, one.path)) or "")
            for one in linked
            if (shown := self._workspace.shown(one.path)) is not None
        ]
        return tuple(sorted(changes, key=lambda one: one.images is not None))

    async def _without_editor(self, running: _Running, found: list[FileChange]) -> list[FileChange]:
        """Return what is left of changes without what the editor did."""
        # A file that was saved while another command ran was not looked at when this one began.
        steps = self._running[0].steps

        def others() -> list[FileChange]:
            parts = EditorsPart(found, running.own_ns, running.unsaved)
            left = (parts.taken_from(one, steps.of(one.path)) for one in found)
            return [one for one in left if not one.is_none]

        for _ in range(_LOOKS):
            late = frozenset(one.path for one in others() if steps.of(one.path))
            if not late:
                break
            # Perhaps it was looked at while it was saved, or before that was told.
            await steps.settle(late)
            async with self._looking:
                again = await _in_thread(partial(self._looked_again, found, late))
            is_new = any(one is not other for one, other in zip(found, again, strict=True))
            found = again
            if not is_new:
                break
        return others()

    def _looked_again(self, found: Sequence[FileChange], late: Container[Path]) -> list[FileChange]:
        roots = self._roots()
        return [
            replace(one, after=self._files.look(one.path, roots, hashes=True))
            if one.path in late and signature(one.path) != (one.after and one.after.signature)
            else one
            for one in found
        ]

    def _look_before(self) -> tuple[frozenset[tuple[Path, Signature | None]], frozenset[Path]]:
        """See what has changed since the last look; return what is left for the commands that run,
        and the folders in which files are known. Whoever did the rest, it was no command.
        """
        roots = self._roots()
        changes: list[FileChange] = []
        for path in dict.fromkeys((*self._listed(), *self._files, *self._edits)):
            seen, now = self._files.get(path), signature(path)
            if now != (seen and seen.signature):
                changes.append(FileChange(path, seen, now and Seen(now, None)))
        left = self._doing_of(list(self._running), changes)
        for one in changes:
            if one.path not in left:
                self._files.look(one.path, roots)
        folders = {path.parent for path in self._files}
        folders.update(*(one.parents for one in list(folders)))
        those = frozenset(_as_it_is(one) for one in changes if one.path in left)
        return those, frozenset(folders)

    def _changes(self, mark: _Running) -> list[FileChange]:
        """Look again; return what is another than before, by path, whoever did it but an agent."""
        listed, roots = set(self._listed()), self._roots()
        known = {path: seen for path in self._files if (seen := self._files.get(path))}
        changes: list[FileChange] = []
        for path in listed | known.keys():
            before = known.get(path)
            # One that is not listed may lie behind a link by now; a look does not go there.
            is_same = before is not None and path in listed and signature(path) == before.signature
            if not is_same:
                after = self._files.look(path, roots, hashes=True)
                changes.append(FileChange(path, before, after))
        changes.sort(key=lambda one: one.path)
        its = self._doing_of([mark], changes)
        others = [one for one in self._running if one is not mark]
        left = self._doing_of(others, changes)
        for one in changes:
            if one.path in left and one.path not in its:
                self._files.remember(one.path, one.before)
        return [one for one in changes if one.path in its]

    def _doing_of(self, those: Iterable[_Running], changes: Sequence[FileChange]) -> set[Path]:
        """Return which files one of these commands can have changed, and is to tell of."""
        roots = self._roots()
        found = set[Path]()
        for running in those:
            since = [one for one in changes if _as_it_is(one) not in running.left]
            arrivals = Arrivals(running.folders, since, roots, running.files_ns - CLOCK_NS)
            found.update(
                one.path
                for one in since
                # What is new and came before it was made by somebody else while one looked.
                if (one.before is not None or arrivals.is_one(one))
                and not self._edits.is_since(one.path, running.own_ns)
            )
        return found

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
    # A thread goes on after its caller was cancelled; nobody else may look until it ends.
    return await settled(asyncio.to_thread(how))


def file_clock_ns() -> int:
    """Return the time that a file made now gets, in nanoseconds since the epoch.

    Linux dates files by its last tick, which a busy machine can owe for longer than any margin.
    """
    return time.clock_gettime_ns(_LINUX_COARSE) if sys.platform == "linux" else time.time_ns()


def _as_it_is(change: FileChange) -> tuple[Path, Signature | None]:
    return change.path, change.after and change.after.signature


def _change(path: str, change: FileChange, other_path: str) -> CommandChange:
    before, after = change.before, change.after
    data = before and before.data, after and after.data
    if all(one is None or one.is_plain for one in (before, after)):
        modes = before and before.permissions, after and after.permissions
        return CommandChange(path, *data, modes=modes)
    is_known = before is None or before.data is not None
    other = {"other_path": other_path if other_path != path else ""}
    images = (
        before and before.image.model_copy(update=other),
        after and after.image.model_copy(update=other),
    )
    return CommandChange(path, *data, is_before_known=is_known, images=images)
