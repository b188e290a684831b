"""Tells of the files that the editor writes, makes, moves and takes away, while somebody asks:
while a command runs, whose work is what is left without the person's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind, DocumentStore
from agent_ls.lsp.connection.uris import uri_to_path


class EditorSteps:
    """Passes on what the editor does to files."""

    def __init__(self, documents: DocumentStore) -> None:
        """Hear of saves from these documents; of all else by ``note``."""
        self._listeners: list[Callable[[Path], None]] = []
        documents.listen(self._on_document)

    def follow(self, written: Callable[[Path], None]) -> Callable[[], None]:
        """Tell of each file and folder, until the answer is called."""
        self._listeners.append(written)
        return lambda: self._listeners.remove(written)

    def note(self, uri: str) -> None:
        """Know that the person, or we for the editor, changed what is there."""
        path = uri_to_path(uri) if self._listeners else None
        if path is not None:
            for written in self._listeners:
                written(path.resolve())

    def _on_document(self, event: DocumentEvent) -> None:
        if event.kind is DocumentEventKind.SAVED:
            self.note(event.uri)
