"""What a user can mention in words to the agent: ``@path`` files and folders, ``#`` symbols.

Both answer within a bound, whatever the size of the workspace; what takes longer goes on, so that
the next request finds more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from heapq import nsmallest

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.symbols import Definition
from agent_ls.loop.ports.workspace import Workspace

_MOST = 50
_REST = 20
"""A list of files counts as new for this many times the time it took, so that a huge tree is
walked seldom."""
_WAIT_S = 1.5


class FileNames:
    """The workspace's files and folders. A list that exists is answered at once and renewed
    meanwhile.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._names: Sequence[str] | None = None
        self._walk: asyncio.Future[None] | None = None
        self._good_until_s = 0.0

    @property
    def is_listed(self) -> bool:
        """Say whether there is a list; until then the names are being read."""
        return self._names is not None

    def renew(self) -> None:
        """List the files again in the background, unless the list is new."""
        is_walking = self._walk is not None and not self._walk.done()
        if not is_walking and time.monotonic() >= self._good_until_s:
            self._walk = asyncio.ensure_future(self._list())

    async def like(self, typed: str) -> list[str]:
        """Return the paths that contain ``typed``, the likeliest first, at most 50.

        Folders end with a slash. None come while the first list is being made.
        """
        self.renew()
        if self._names is None and self._walk is not None:
            await asyncio.wait([self._walk], timeout=_WAIT_S)
        return await asyncio.to_thread(likeliest, self._names or (), typed)

    async def _list(self) -> None:
        begun_s = time.monotonic()
        with suppress(WorkspaceError):
            files = await self._workspace.files()
            self._names = await asyncio.to_thread(lambda: [*files, *folders_of(files)])
        now_s = time.monotonic()
        self._good_until_s = now_s + _REST * (now_s - begun_s)


class SymbolNames:
    """The workspace's definitions. One search at a time: what is typed meanwhile waits for it."""

    def __init__(self, find: Callable[[str, int], Awaitable[Sequence[Definition]]]) -> None:
        self._find = find
        self._running: asyncio.Future[Sequence[Definition]] | None = None

    async def like(self, typed: str, limit: int) -> Sequence[Definition] | None:
        """Return the definitions whose name contains ``typed``, best first; None: not in time."""
        until_s = time.monotonic() + _WAIT_S
        while self._running is not None and not self._running.done():
            await asyncio.wait([self._running], timeout=max(0.0, until_s - time.monotonic()))
            if time.monotonic() >= until_s:
                return None
        search = self._running = asyncio.ensure_future(self._find(typed, limit))
        await asyncio.wait([search], timeout=max(0.0, until_s - time.monotonic()))
        return search.result() if search.done() else None


def folders_of(files: Sequence[str]) -> list[str]:
    """Return the folders that hold these files, each with a final slash."""
    found: set[str] = set()
    for one in files:
        folder = one.rpartition("/")[0]
        while folder and f"{folder}/" not in found:
            found.add(f"{folder}/")
            folder = folder.rpartition("/")[0]
    return sorted(found)


def likeliest(paths: Sequence[str], typed: str) -> list[str]:
    """Return the paths that contain ``typed``; first those whose file name begins with it."""
    wanted = typed.lower()

    def rank(path: str) -> tuple[bool, bool, int, str]:
        name = path.rstrip("/").rpartition("/")[2].lower()
        return not name.startswith(wanted.rstrip("/")), wanted not in name, len(path), path

    return nsmallest(_MOST, (one for one in paths if wanted in one.lower()), key=rank)
