"""Which open document and line the user is at, and how URIs and paths map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent_ls.domain.errors import WorkspaceError
from agent_ls.domain.events import Anchor
from agent_ls.domain.verdicts import Allow
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind, DocumentStore
from agent_ls.lsp.connection.positions import WithoutEnds, split_lines
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.safety.control_files import judge_read


class DocumentLookup:
    """Tracks the order in which the user visits documents."""

    def __init__(self, documents: DocumentStore, workspace: EditorWorkspace) -> None:
        self._documents = documents
        self._workspace = workspace
        self._order: list[str] = [one for one in documents.uris() if not is_conversation(one)]
        """The open documents but the conversations, least recently used first."""
        self._lines: dict[str, int] = {}
        """By document, the line of the cursor that a request named last."""
        documents.listen(self._on_document)

    def touch(self, uri: str, line: int | None = None) -> None:
        """Record that the user did something in a document, with the cursor on ``line``."""
        found = None if is_conversation(uri) else self._documents.spelled(uri)
        if found is None:
            return
        if line is not None:
            self._lines[found] = line
        if self._order[-1:] != [found]:
            self._order = [one for one in self._order if one != found] + [found]

    def here(self) -> Anchor | None:
        """Return where the user was last; None outside the folders, line 0 if none is known."""
        uri = self.active()
        return None if uri is None else self.anchor(uri, self._lines.get(uri, 0))

    def active(self) -> str | None:
        """Return the open document that the user used last."""
        return self._order[-1] if self._order else None

    def recent(self) -> list[str]:
        """Return the open documents, most recently used first."""
        return self._order[::-1]

    def path(self, uri: str) -> str | None:
        """Return the agent's name for a document; None outside the folders."""
        found = self.anchor(uri, 0)
        return None if found is None else found.path

    def is_secret(self, path: str) -> bool:
        """Say whether reading a file needs approval (it may hold secrets) or is refused."""
        return not isinstance(judge_read(path, self._workspace.roots), Allow)

    def open_uri(self, path: str) -> str | None:
        """Return the URI of a path's open document; None when it is not open."""
        try:
            document = self._workspace.open_document(path)
        except WorkspaceError:
            return None
        return document.uri if document else None

    def uri(self, path: str) -> str | None:
        """Return the URI of a path, open or not; None outside the roots."""
        try:
            return self._workspace.uri(path)
        except WorkspaceError:
            return None

    def closed_places(self, paths: Iterable[str]) -> Iterator[tuple[str, Path]]:
        """Yield the paths that are not open, with their resolved places."""
        return self._workspace.closed_places(paths)

    def anchor(self, uri: str, line: int) -> Anchor | None:
        """Return a place in the form sessions store; None outside the folders."""
        path = uri_to_path(uri)
        shown = None if path is None else self._workspace.shown(path.resolve())
        return None if shown is None else Anchor(path=shown, line=line)

    def text(self, uri: str) -> str | None:
        """Return an open document's text."""
        found = self._documents.get(uri)
        return found.text if found else None

    def lines(self, uri: str) -> Sequence[str] | None:
        """Return an open document's lines without line ends; they change with the document."""
        return self._documents.lines(uri)

    async def newest(self, path: str) -> str | None:
        """Return a file's newest text, saved or not; None when unreadable."""
        try:
            return (await self._workspace.read(path)).text
        except WorkspaceError:
            return None

    def _on_document(self, event: DocumentEvent) -> None:
        if event.kind is DocumentEventKind.CLOSED:
            self._order = [one for one in self._order if one != event.uri]
            self._lines.pop(event.uri, None)
        else:
            self.touch(event.uri)


def lines_of_document(text: str) -> Sequence[str]:
    """Return a text's lines as editors count them, without line ends."""
    return WithoutEnds(split_lines(text))
