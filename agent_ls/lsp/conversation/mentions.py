"""The files that a person can mention as ``@path`` while they write to the agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from heapq import nsmallest

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Workspace

_MOST = 50
_REST = 20
"""A list of files counts as new for this many times the time it took, so that a huge tree is
walked seldom."""


class FileNames:
    """The workspace's files. A list that exists is answered at once and renewed meanwhile."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: Sequence[str] | None = None
        self._walk: asyncio.Future[None] | None = None
        self._good_until_s = 0.0

    def renew(self) -> None:
        """List the files again in the background, unless the list is new."""
        is_walking = self._walk is not None and not self._walk.done()
        if not is_walking and time.monotonic() >= self._good_until_s:
            self._walk = asyncio.ensure_future(self._list())

    async def like(self, typed: str) -> list[str]:
        """Return the files whose path contains ``typed``, the likeliest first, at most 50."""
        self.renew()
        if self._files is None and self._walk is not None:
            # Shielded: the next request needs the list too.
            await asyncio.shield(self._walk)
        return likeliest(self._files or (), typed)

    async def _list(self) -> None:
        begun_s = time.monotonic()
        with suppress(WorkspaceError):
            self._files = await self._workspace.files()
        now_s = time.monotonic()
        self._good_until_s = now_s + _REST * (now_s - begun_s)


def likeliest(paths: Sequence[str], typed: str) -> list[str]:
    """Return the paths that contain ``typed``; first those whose file name begins with it."""
    wanted = typed.lower()

    def rank(path: str) -> tuple[bool, bool, int, str]:
        name = path.rpartition("/")[2].lower()
        return not name.startswith(wanted), wanted not in name, len(path), path

    return nsmallest(_MOST, (one for one in paths if wanted in one.lower()), key=rank)
