"""Sees what commands change: texts of the project, before and after, by a look around each command.

What ignore rules leave out is not looked at, nor what is no text. Blocking work runs in a thread.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.verdicts import Allow
from agent_ls.loop.ports.commands import CommandChange
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.settling import settled
from agent_ls.loop.sockets import PlannedCall
from agent_ls.safety.command_calls import decide_call
from agent_ls.workspace.ignore import walk

_MAX_FILE_BYTES = 2 * 2**20
_MAX_KEPT_BYTES = 64 * 2**20
"""Of all texts together; what is beyond is seen to change, without the text before."""
_BOM = "\ufeff".encode()
_CLOCK_NS = 20_000_000
"""A file system's clock may be that much behind ours."""

T = TypeVar("T")

_Signature = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Seen:
    """One file as it was at the last look."""

    signature: _Signature
    data: bytes | None
    """None: no text, or not kept."""


class TreeWatch:
    """What the files of the open folders held when they were last looked at."""

    def __init__(self, workspace: Workspace) -> None:
        """Take whose folders are watched; the first look comes with the first command."""
        self._workspace = workspace
        self._files: dict[Path, _Seen] = {}
        self._edited: dict[Path, int] = {}
        """When an agent's edit of a file began or ended last."""
        self._kept_bytes = 0
        self._is_filled = False
        self._looking = asyncio.Lock()

    async def begin(self, planned: PlannedCall) -> int | None:
        """Look before a command; None for one that plainly only reads, and needs no second look."""
        if isinstance(await decide_call(planned, self._workspace), Allow):
            return None
        await self._look(self._look_before)
        for one in await self._workspace.dirty():
            # It is saved first; only what comes after that is the command's doing.
            _, path = self._workspace.locate(one.path)
            if (seen := self._files.get(path)) is not None:
                data = _encoded(one.text, seen.data)
                self._kept_bytes += len(data) - len(seen.data or b"")
                self._files[path] = replace(seen, data=data)
        return time.time_ns() - _CLOCK_NS

    def edits(self, path: str) -> None:
        """Know that an agent edits this file now: what becomes of it is no command's doing."""
        try:
            _, place = self._workspace.locate(path)
        except WorkspaceError:
            return
        self._edited[place] = time.time_ns()

    async def changes(self, mark: int) -> tuple[CommandChange, ...]:
        """Return what has changed since ``begin``, by path."""
        saved = self._workspace.saved_since(mark)
        return await self._look(lambda: tuple(self._changes(mark, saved)))

    async def _look(self, how: Callable[[], T]) -> T:
        async with self._looking:
            # A thread goes on after its caller was cancelled; nobody else may look until it ends.
            return await settled(asyncio.to_thread(how))

    def _look_before(self) -> None:
        """See what has changed since the last look: whoever did that, it was no command."""
        if not self._is_filled:
            for path in self._listed():
                self._take(path)
            self._is_filled = True
            return
        for path, seen in list(self._files.items()):
            if _signature(path) != seen.signature:
                self._forget(path)
                self._take(path)

    def _changes(self, mark: int, saved: Mapping[Path, str]) -> Iterator[CommandChange]:
        listed = self._listed()
        for path in sorted({*listed, *self._files}):
            before = self._files.get(path)
            now = _signature(path)
            if before is not None and before.signature == now:
                continue
            self._forget(path)
            after = self._take(path)
            if self._edited.get(path, 0) >= mark:
                continue
            if path in saved:
                # Whatever it was, the person has made it this meanwhile.
                before_data, is_known = _encoded(saved[path], before and before.data), True
            elif before is None:
                # It may have come between two looks, by somebody else's hand.
                if after is None or after.data is None or max(after.signature[2:]) < mark:
                    continue
                before_data, is_known = None, True
            else:
                before_data, is_known = before.data, before.data is not None
            after_data = after.data if after else None
            is_text = after is None or after_data is not None
            shown = self._workspace.shown(path)
            if shown is not None and is_text and before_data != after_data:
                yield CommandChange(shown, before_data, after_data, is_before_known=is_known)

    def _listed(self) -> list[Path]:
        return [root.path / name for root in self._workspace.roots for name in walk(root.path)]

    def _take(self, path: Path) -> _Seen | None:
        """Remember a file as it is now; None when nothing is there."""
        signature = _signature(path)
        if signature is None:
            return None
        seen = _Seen(signature, self._text(path, signature))
        self._files[path] = seen
        self._kept_bytes += len(seen.data or b"")
        return seen

    def _forget(self, path: Path) -> None:
        seen = self._files.pop(path, None)
        self._kept_bytes -= len(seen.data or b"") if seen else 0

    def _text(self, path: Path, signature: _Signature) -> bytes | None:
        size = signature[1]
        if size > _MAX_FILE_BYTES or self._kept_bytes + size > _MAX_KEPT_BYTES:
            return None
        try:
            data = path.read_bytes()
            data.decode()
        except (OSError, UnicodeDecodeError):
            return None
        return None if b"\0" in data else data


def _encoded(text: str, before: bytes | None) -> bytes:
    """Return a buffer's text as its editor saves it."""
    bom = _BOM if before is not None and before.startswith(_BOM) else b""
    return bom + text.encode(errors="surrogateescape")


def _signature(path: Path) -> _Signature | None:
    """Return what tells a changed file from the same one; None when no file is there."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
