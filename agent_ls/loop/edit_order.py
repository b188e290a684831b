"""Serialises edits of the same file, whoever makes them.

Otherwise the recorded bytes before and after an edit could include another edit.
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
    """One lock per file that is being edited."""

    def __init__(self) -> None:
        self._locks = WeakValueDictionary[Path, asyncio.Lock]()
        """A lock lives as long as somebody holds it or waits for it."""

    @asynccontextmanager
    async def of(self, places: Iterable[Path]) -> AsyncGenerator[None]:
        """Hold the locks of all these files."""
        async with AsyncExitStack() as held:
            # A fixed order prevents two edits from waiting for each other.
            for place in sorted(set(places)):
                await held.enter_async_context(self._locks.setdefault(place, asyncio.Lock()))
            yield


def edited_places(workspace: Workspace, edit: FileEdit) -> list[Path]:
    """Return the absolute paths that an edit changes.

    Errors: ``PathRefused`` for a path the workspace refuses.
    """
    paths = [edit.path, edit.new_path] if edit.kind == "move" else [edit.path]
    return [workspace.locate(path)[1] for path in paths]
