"""The files that are open in the editor, beside what the disk has of them.

Owns which of the two holds the newest text. A document that the editor has not loaded again since
its file was written, and one whose file the agent took away, count as closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.lsp.connection.documents import (
    DocumentEvent,
    DocumentEventKind,
    DocumentStore,
    Snapshot,
)
from agent_ls.lsp.connection.saved_texts import SavedTexts, Standing
from agent_ls.lsp.connection.uris import uri_to_path


@dataclass(frozen=True, slots=True)
class OpenFile:
    """An open document beside its file."""

    path: str
    document: Snapshot
    on_disk: bytes | None
    """The file's bytes; None: there is no file."""
    standing: Standing


class OpenFiles:
    """The open documents of one editor that are files below its folders."""

    def __init__(self, disk: Workspace, documents: DocumentStore, saved: SavedTexts) -> None:
        """Take the disk's workspace, the documents, and what is known of these and their files."""
        self.disk = disk
        """The files without the editor; another one when it has other folders."""
        self._documents = documents
        self._saved = saved
        self._gone: dict[str, int] = {}
        """Documents whose file the agent took away, by URI, with their revision then: they count
        as closed until the person does something with them."""
        documents.listen(self._on_document)

    def document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is closed, or its file is gone."""
        _, absolute = self.disk.locate(path)
        found = self._documents.at_path(absolute)
        if found is None:
            return self.by_place().get(absolute)
        return None if found.uri in self._gone else found

    def by_place(self) -> dict[Path, Snapshot]:
        """Return the open documents by where their paths lead, over links as well."""
        found: dict[Path, Snapshot] = {}
        for uri in self._documents.uris():
            path, document = uri_to_path(uri), self._documents.get(uri)
            if path is not None and document is not None and uri not in self._gone:
                found.setdefault(path.resolve(), document)
        return found

    def closed_places(self, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Yield those of these paths that are not open, with where they lead; none that no tool may
        name.
        """
        by_place = self.by_place()
        for path in paths:
            with suppress(WorkspaceError):
                _, place = self.disk.locate(path)
                if place not in by_place:
                    yield path, place

    async def find(self, path: str) -> OpenFile | None:
        """Return the open document of a path beside its file; None when there is none."""
        document = self.document(path)
        return None if document is None else await self._beside(path, document)

    async def holding_newest(self, path: str) -> OpenFile | None:
        """Return the open document that holds the newest text of a path; None: the disk does.

        That is so as well where the editor shows a text that is behind the disk's: nobody typed
        there, and an edit of the older text would be lost on one side.
        """
        found = await self.find(path)
        return None if found is None or found.standing == "behind" else found

    async def unsaved(self) -> list[OpenFile]:
        """Return those with text that the disk does not hold, in the order of opening."""
        found = [await self._beside(path, document) for path, document in self._below_roots()]
        return [
            one
            for one in found
            if one and one.document.in_sync and one.standing in ("unsaved", "apart")
        ]

    async def exists(self, path: str) -> bool:
        """Say whether anything is there, in a document or on disk."""
        if self.document(path) is not None:
            try:
                if await self.holding_newest(path) is not None:
                    return True
            except WorkspaceError:
                return True
        return await self.disk.exists(path)

    def note_taken_away(self, document: Snapshot) -> None:
        """Know that a document's file was taken away, and with it the text it had then."""
        now = self._documents.get(document.uri)
        if now is not None:
            self._saved.note(now.uri, None)
            if now.text == document.text:
                self._gone[now.uri] = now.revision

    async def _beside(self, path: str, document: Snapshot) -> OpenFile | None:
        """Look at a document beside its file; None when it was closed meanwhile."""
        on_disk = await self.disk.snapshot(path)
        now = self._documents.get(document.uri)
        if now is None:
            return None
        return OpenFile(path, now, on_disk, self._saved.standing(now, on_disk))

    def _below_roots(self) -> list[tuple[str, Snapshot]]:
        """Return the open documents that are files below the roots, in the order of opening.

        One that no tool may name, by a control character or a link that leads out, is none.
        """
        found: list[tuple[str, Snapshot]] = []
        for uri in self._documents.uris():
            document = self._documents.get(uri)
            path = uri_to_path(uri)
            shown = None if path is None else self.disk.shown(path.resolve())
            if document is None or shown is None or uri in self._gone:
                continue
            try:
                self.disk.locate(shown)
            except WorkspaceError:
                continue
            found.append((shown, document))
        return found

    def _on_document(self, event: DocumentEvent) -> None:
        """A document that is opened, changed, saved or closed is what it says it is again."""
        if event.uri in self._gone and (
            event.kind is not DocumentEventKind.CHANGED or event.revision != self._gone[event.uri]
        ):
            del self._gone[event.uri]
