"""The files that are open in the editor, compared with the disk.

Owns which of the two holds the newest text. A document counts as closed if its file changed on
disk and the editor has not reloaded it.
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
    """An open document and its file's content."""

    path: str
    document: Snapshot
    on_disk: bytes | None
    """The file's bytes; None: there is no file."""
    standing: Standing


class OpenFiles:
    """The open documents of one editor that are files below its folders."""

    def __init__(self, disk: Workspace, documents: DocumentStore, saved: SavedTexts) -> None:
        self.disk = disk
        """The workspace on disk; replaced when the editor's folders change."""
        self._documents = documents
        self._saved = saved

    def document(self, path: str) -> Snapshot | None:
        """Return the open document of a path; None when it is closed."""
        _, absolute = self.disk.locate(path)
        return self._documents.at_path(absolute) or self.by_place().get(absolute)

    def by_place(self) -> dict[Path, Snapshot]:
        """Return the open documents by resolved path, so links are followed."""
        found: dict[Path, Snapshot] = {}
        for uri in self._documents.uris():
            path, document = uri_to_path(uri), self._documents.get(uri)
            if path is not None and document is not None:
                found.setdefault(path.resolve(), document)
        return found

    def closed_places(self, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Yield the paths that are not open, with their resolved places; skips invalid paths."""
        by_place = self.by_place()
        for path in paths:
            with suppress(WorkspaceError):
                _, place = self.disk.locate(path)
                if place not in by_place:
                    yield path, place

    async def find(self, path: str) -> OpenFile | None:
        """Return the open document of a path with its file's content; None when not open."""
        document = self.document(path)
        return None if document is None else await self._beside(path, document)

    async def holding_newest(self, path: str) -> OpenFile | None:
        """Return the open document that holds the newest text of a path; None: the disk holds it.

        A buffer that is behind the disk does not count: nobody typed there, and an edit of its
        older text would be lost.
        """
        found = await self.find(path)
        return None if found is None or found.standing == "behind" else found

    async def unsaved(self) -> list[OpenFile]:
        """Return the open files with unsaved text, in the order of opening.

        Documents that tools may not name are skipped: control characters, links out of the roots.
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
        """Say whether the path exists, as a buffer or on disk."""
        try:
            is_in_buffer = await self.holding_newest(path) is not None
        except WorkspaceError:
            is_in_buffer = self.document(path) is not None
        return is_in_buffer or await self.disk.exists(path)

    async def _beside(self, path: str, document: Snapshot) -> OpenFile | None:
        """Return a document with its file's content; None when it was closed meanwhile."""
        on_disk = await self.disk.saved(path)
        now = self._documents.get(document.uri)
        if now is None:
            return None
        return OpenFile(path, now, on_disk, self._saved.standing(now, on_disk))
