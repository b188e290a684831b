"""The files that are open in the editor, beside what the disk has of them.

Owns which of the two holds the newest text. A document that the editor has not loaded again since
its file was written or went counts as closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.lsp.connection.documents import DocumentStore, Snapshot
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

    def document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is closed."""
        _, absolute = self.disk.locate(path)
        return self._documents.at_path(absolute) or self.by_place().get(absolute)

    def by_place(self) -> dict[Path, Snapshot]:
        """Return the open documents by where their paths lead, over links as well."""
        found: dict[Path, Snapshot] = {}
        for uri in self._documents.uris():
            path, document = uri_to_path(uri), self._documents.get(uri)
            if path is not None and document is not None:
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
        """Return those with text that the disk does not hold, in the order of opening.

        A document that no tool may name, by a control character or a link that leads out, is none.
        """
        found: list[OpenFile] = []
        for place, document in self.by_place().items():
            path = self.disk.shown(place)
            with suppress(WorkspaceError):
                if path is None or not document.in_sync:
                    continue
                self.disk.locate(path)
                one = await self._beside(path, document)
                if one is not None and one.standing in ("unsaved", "apart"):
                    found.append(one)
        return found

    async def exists(self, path: str) -> bool:
        """Say whether anything is there, in a document or on disk."""
        try:
            is_in_buffer = await self.holding_newest(path) is not None
        except WorkspaceError:
            is_in_buffer = self.document(path) is not None
        return is_in_buffer or await self.disk.exists(path)

    async def _beside(self, path: str, document: Snapshot) -> OpenFile | None:
        """Look at a document beside its file; None when it was closed meanwhile."""
        on_disk = await self.disk.snapshot(path)
        now = self._documents.get(document.uri)
        if now is None:
            return None
        return OpenFile(path, now, on_disk, self._saved.standing(now, on_disk))
