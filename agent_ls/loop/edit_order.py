"""One file's edits come one after the other, whoever makes them.

So that an edit's record (the bytes before, the edit, the bytes after) is about that edit alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from agent_ls.domain.edits import FileEdit
from agent_ls.loop.ports.workspace import Workspace


class EditOrder:
    """The files that are being edited right now."""

    def __init__(self) -> None:
        """Begin with none."""
        self._locks = WeakValueDictionary[Path, asyncio.Lock]()
        """Those that somebody holds or waits for."""

    @asynccontextmanager
    async def of(self, places: Iterable[Path]) -> AsyncGenerator[None]:
        """Wait until nobody edits these files, and keep others from it meanwhile."""
        async with AsyncExitStack() as held:
            # Always in the same order, so that two edits never wait for each other.
            for place in sorted(set(places)):
                await held.enter_async_context(self._locks.setdefault(place, asyncio.Lock()))
            yield


def edited_places(workspace: Workspace, edit: FileEdit) -> list[Path]:
    """Return the absolute paths that an edit changes.

    Errors: ``PathRefused`` as the workspace raises it.
    """
    paths = [edit.path, edit.new_path] if edit.kind == "move" else [edit.path]
    return [workspace.locate(path)[1] for path in paths]
