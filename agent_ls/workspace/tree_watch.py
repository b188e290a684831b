"""Sees what commands change: files of the project, before and after, by a look around each command.

What ignore rules leave out is not looked at, nor what Python compiles beside its sources. Blocking
work runs in a thread.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.commands import CommandChange, CommandMark
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.command_calls import decide_call
from agent_ls.workspace.ignore import walk
from agent_ls.workspace.seen_files import Seen, SeenFiles, signature

_BOM = "\ufeff".encode()
_CLOCK_NS = 20_000_000
"""The clock of a file system, on another machine perhaps, may be that much behind."""
_LINUX_COARSE = 5
"""The number of the clock by which Linux dates files; Python has no name for it."""
_COMPILED = "__pycache__"
_UNSAVED = Seen((0, 0, 0, 0), None)
"""Of a new file that is only a buffer yet."""

T = TypeVar("T")


class TreeWatch:
    """What the files of the open folders held when they were last looked at."""

    def __init__(self, workspace: Workspace) -> None:
        """Take whose folders are watched; the first look comes with the first command."""
        self._workspace = workspace
        self._files = SeenFiles()
        self._edited: dict[Path, int] = {}
        """When an agent's edit of a file began or ended last."""
        self._running: list[CommandMark] = []
        self._looking = asyncio.Lock()

    async def begin(self, planned: PlannedCall) -> CommandMark | None:
        """Look before a command; None for one that plainly only reads, and needs no second look."""
        if isinstance(await decide_call(planned, self._workspace), Allow):
            return None
        await self._look(self._look_before)
        for one in await self._workspace.dirty():
            # It is saved first; only what comes after that is the command's doing.
            _, path = self._workspace.locate(one.path)
            self._files.put(path, _saved(self._files.get(path) or _UNSAVED, one.text))
        mark = CommandMark(time.time_ns(), file_clock_ns())
        self._running.append(mark)
        return mark

    def edits(self, path: str) -> None:
        """Know that an agent edits this file now: what becomes of it is no command's doing."""
        try:
            _, place = self._workspace.locate(path)
        except WorkspaceError:
            return
        self._edited[place] = time.time_ns()

    async def changes(self, mark: CommandMark) -> tuple[CommandChange, ...]:
        """Return what has changed since ``begin``, by path, texts first."""
        # A file that was saved while another command ran was not looked at when this one began.
        began_ns = min(one.own_ns for one in self._running)
        saved = self._workspace.saved_since(began_ns - _CLOCK_NS)
        try:
            found = await self._look(lambda: list(self._changes(mark, saved)))
        finally:
            self._running.remove(mark)
        return tuple(sorted(found, key=lambda one: one.images is not None))

    async def _look(self, how: Callable[[], T]) -> T:
        async with self._looking:
            # A thread goes on after its caller was cancelled; nobody else may look until it ends.
            return await settled(asyncio.to_thread(how))

    def _look_before(self) -> None:
        """See what has changed since the last look: whoever did that, it was no command."""
        roots = self._roots()
        began_ns = min((one.files_ns for one in self._running), default=None)
        for path in dict.fromkeys((*self._listed(), *self._files, *self._edited)):
            seen, now = self._files.get(path), signature(path)
            is_same = seen is not None and now == seen.signature
            # What happened while another command runs can be that one's doing, and is told by it.
            is_its = began_ns is not None and (now is None or max(now[2:]) >= began_ns - _CLOCK_NS)
            if not is_same and not is_its:
                self._files.look(path, roots)

    def _changes(self, mark: CommandMark, saved: Mapping[Path, str]) -> Iterator[CommandChange]:
        listed, roots = set(self._listed()), self._roots()
        came_ns = mark.files_ns - _CLOCK_NS
        for path in sorted({*listed, *self._files}):
            before = self._files.get(path)
            # One that is not listed may lie behind a link by now; a look does not go there.
            is_same = before is not None and path in listed and signature(path) == before.signature
            if is_same:
                continue
            after = self._files.look(path, roots, hashes=True)
            if after is None and before is not None and before.signature == _UNSAVED.signature:
                continue
            # What was edited right before the command was looked at.
            if self._edited.get(path, 0) >= mark.own_ns:
                continue
            if path in saved and (known := before or after) is not None:
                # Whatever it was, the person has made it this meanwhile.
                before = _saved(known, saved[path])
            elif before is None and (after is None or max(after.signature[2:]) < came_ns):
                # It may have come between two looks, by somebody else's hand.
                continue
            shown = self._workspace.shown(path)
            if shown is not None and not _is_same(before, after):
                yield _change(shown, before, after)

    def _listed(self) -> list[Path]:
        return [
            root.path / name
            for root in self._workspace.roots
            for name in walk(root.path)
            if _COMPILED not in name or _COMPILED not in name.split("/")
        ]

    def _roots(self) -> list[Path]:
        return [root.path for root in self._workspace.roots]


def file_clock_ns() -> int:
    """Return the time that a file made now gets, in nanoseconds since the epoch.

    Linux dates files by its last tick, which a busy machine can owe for longer than any margin.
    """
    return time.clock_gettime_ns(_LINUX_COARSE) if sys.platform == "linux" else time.time_ns()


def _is_same(before: Seen | None, after: Seen | None) -> bool:
    if before is None or after is None:
        return before is after
    return before.is_same(after)


def _change(path: str, before: Seen | None, after: Seen | None) -> CommandChange:
    data = before and before.data, after and after.data
    if all(one is None or one.is_plain for one in (before, after)):
        modes = before and before.permissions, after and after.permissions
        return CommandChange(path, *data, modes=modes)
    is_known = before is None or before.data is not None
    images = before and before.image, after and after.image
    return CommandChange(path, *data, is_before_known=is_known, images=images)


def _saved(seen: Seen, text: str) -> Seen:
    """Return a file with a buffer's text, as its editor saves it."""
    bom = _BOM if seen.data is not None and seen.data.startswith(_BOM) else b""
    data = bom + text.encode(errors="surrogateescape")
    return replace(seen, data=data, digest=None, is_text=True)
