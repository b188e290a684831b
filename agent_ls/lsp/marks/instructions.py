"""The instruction comments of open documents, found once for each text."""

from __future__ import annotations

import asyncio

from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.syntax.comments import MARKER, InstructionComment, find_instructions


class Instructions:
    """Finds the comments that tell the agent to do something; asked at every move of a cursor."""

    def __init__(self, documents: DocumentStore) -> None:
        """Take the open documents; ``marker`` is what the comments begin with."""
        self._documents = documents
        self._found: dict[str, tuple[int, str, list[InstructionComment]]] = {}
        self.marker = MARKER

    async def of(self, uri: str) -> list[InstructionComment]:
        """Return those of a document, in order; none when it is not open."""
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
