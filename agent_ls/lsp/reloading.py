"""Tells the person of open files that still show an older text than the agent has written to disk.

Owns that each is told once for as long as it is shown so, and none that the editor loads again by
itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

from agent_ls.domain.errors import WorkspaceError
from agent_ls.lsp.documents import DocumentEvent, DocumentStore
from agent_ls.lsp.open_files import OpenFiles

_PAUSE_S = 3.0
"""Editors that load files again by themselves have done so by then."""


class ReloadingEditor(Protocol):
    """What is asked of the editor."""

    def advise_reloading(self, paths: list[str]) -> None:
        """Tell the person which files are shown in an older text than the agent's."""
        ...


class Reloading:
    """The open files of one editor that the agent changed on disk."""

    def __init__(
        self,
        files: OpenFiles,
        documents: DocumentStore,
        editor: ReloadingEditor,
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """Take the open files, their documents, and the way to the person."""
        self._files, self._editor, self._pause_s = files, editor, pause_s
        self._written: dict[str, None] = {}
        """The paths to look at, in the order of writing."""
        self._told: set[str] = set()
        """Documents that were told of and nothing has happened to since, by URI."""
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        documents.listen(self._on_document)

    def on_written(self, path: str) -> None:
        """Look after a while how a file is shown that was written to disk; nothing if it is closed.

        Errors: ``WorkspaceError`` for a path outside the roots.
        """
        document = self._files.document(path)
        if document is None or document.uri in self._told:
            return
        self._written[path] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._begin)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()

    def _begin(self) -> None:
        self._timer = None
        written, self._written = list(self._written), {}
        self._looking = asyncio.get_running_loop().create_task(self._look(written))

    async def _look(self, paths: list[str]) -> None:
        older: list[str] = []
        for path in paths:
            with suppress(WorkspaceError):
                found = await self._files.find(path)
                # What is gone from the disk cannot be loaded again.
                if found and found.standing == "behind" and found.on_disk is not None:
                    self._told.add(found.document.uri)
                    older.append(path)
        if older:
            self._editor.advise_reloading(older)

    def _on_document(self, event: DocumentEvent) -> None:
        self._told.discard(event.uri)
