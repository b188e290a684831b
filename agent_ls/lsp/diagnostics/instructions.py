"""The instruction comments of open documents, cached per text."""

from __future__ import annotations

import asyncio

from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.syntax.comments import MARKER, InstructionComment, find_instructions


class Instructions:
    """Finds comments that instruct the agent. Cached: asked at every cursor move."""

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._found: dict[str, tuple[int, str, list[InstructionComment]]] = {}
        self.marker = MARKER

    async def of(self, uri: str) -> list[InstructionComment]:
        """Return a document's instruction comments in order; empty when it is not open."""
        document = self._documents.get(uri)
        if document is None:
            self._found.pop(uri, None)
            return []
        kept = self._found.get(document.uri)
        if kept is not None and kept[:2] == (document.revision, self.marker):
            return kept[2]
        marker = self.marker
        found = await asyncio.to_thread(
            find_instructions,
            document.text,
            language_id=document.language_id,
            file_name=document.uri.rpartition("/")[2],
            marker=marker,
        )
        self._found[document.uri] = document.revision, marker, found
        return found
