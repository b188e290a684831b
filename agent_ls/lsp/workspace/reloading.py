"""Tells the person of open files that still show what the agent or a command has changed on disk.

Owns that each is told once for as long as it is shown so, and none that the editor loads again, or
closes, by itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

from agent_ls.domain import events as e
from agent_ls.domain.errors import WorkspaceError
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentStore
from agent_ls.lsp.workspace.open_files import OpenFiles

_PAUSE_S = 3.0
"""Editors that load files again by themselves have done so by then."""


class ReloadingEditor(Protocol):
    """What is asked of the editor."""

    def advise_reloading(self, paths: list[str]) -> None:
        """Tell the person which files are shown in an older text than the agent's."""
        ...

    def advise_closing(self, gone: list[str]) -> None:
        """Tell the person which files went that the editor still has open, and how they went."""
        ...


class Reloading:
    """The open files of one editor that the agent changed on disk; a Reader of all sessions."""

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
        self._documents = documents
        self._taken: dict[str, tuple[str, str]] = {}
        """The documents whose file went, by URI: its path, and what is said of it."""
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
        self._look_later()

    def on_taken(self, uri: str, path: str, new_path: str | None) -> None:
        """Look after a while whether a document is open whose file was moved; None: deleted."""
        how = "deleted" if new_path is None else f"moved to {new_path}"
        self._taken[uri] = path, f"{path} was {how}"
        self._look_later()

    def on_event(self, stored: e.StoredEvent) -> None:
        """See which open files a command takes away."""
        event = stored.event
        if not isinstance(event, e.CommandChanged) or not event.is_gone:
            return
        with suppress(WorkspaceError):
            if document := self._files.document(event.path):
                words = f"A command moved or deleted {event.path}"
                self._taken[document.uri] = event.path, words
                self._look_later()

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore what streams."""

    def _look_later(self) -> None:
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
        taken, self._taken = self._taken, {}
        self._looking = asyncio.get_running_loop().create_task(self._look(written, taken))

    async def _look(self, paths: list[str], taken: dict[str, tuple[str, str]]) -> None:
        gone: list[str] = []
        for uri, (path, words) in taken.items():
            with suppress(WorkspaceError):
                is_open = self._documents.get(uri) is not None
                if is_open and not await self._files.disk.exists(path):
                    gone.append(words)
        if gone:
            self._editor.advise_closing(gone)
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
