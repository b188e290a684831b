"""Edits offered as code actions, for editors that do not apply edits by themselves.

Owns the list of pending edits. An edit is settled by the next change of its document's text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from lsprotocol import types

from agent_ls.lsp.connection.documents import DocumentEvent, DocumentStore, Snapshot
from agent_ls.lsp.diagnostics.annotation import PendingEdit
from agent_ls.lsp.workspace.editor_port import Reply


@dataclass(frozen=True, slots=True)
class _Offered:
    edit: PendingEdit
    text: str
    reply: asyncio.Future[Reply]


class PendingEdits:
    """The pending edits of one editor."""

    def __init__(self, documents: DocumentStore, changed: Callable[[], None]) -> None:
        """``changed`` is called when the list of pending edits changes."""
        self._documents = documents
        self._changed = changed
        self._offered: dict[str, _Offered] = {}
        self._count = 0
        documents.listen(self._on_document)

    def all(self) -> list[PendingEdit]:
        """Return the pending edits, oldest first."""
        return [one.edit for one in self._offered.values()]

    def offer(
        self, snapshot: Snapshot, edit: types.WorkspaceEdit, label: str
    ) -> asyncio.Future[Reply]:
        """Offer an edit; the future resolves when the text changes or the edit is rejected."""
        self._count += 1
        number = f"edit-{self._count}"
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        pending = PendingEdit(number, snapshot.uri, _first_line(edit), label)
        self._offered[number] = _Offered(pending, snapshot.text, reply)
        reply.add_done_callback(lambda _: self._forget(number))
        self._changed()
        return reply

    def was_offered(self, number: str) -> bool:
        """Say whether an edit with this id is or was pending."""
        return number in (f"edit-{one}" for one in range(1, self._count + 1))

    def discard(self, number: str) -> bool:
        """Reject an edit for the user; False when it is no longer pending."""
        return self._refuse(number, "the user discarded it")

    def apply_all(self) -> bool:
        """Let all pending edits be applied; False when there is none."""
        waiting = [one for one in self._offered.values() if not one.reply.done()]
        for one in waiting:
            one.reply.set_result(Reply("now"))
        return bool(waiting)

    def withdraw(self) -> None:
        """Reject all pending edits: their turn is over."""
        for number in list(self._offered):
            self._refuse(number, "the turn is over")

    def _refuse(self, number: str, why: str) -> bool:
        found = self._offered.get(number)
        if found is None or found.reply.done():
            return False
        found.reply.set_result(Reply("no", why))
        return True

    def _forget(self, number: str) -> None:
        self._offered.pop(number, None)
        self._changed()

    def _on_document(self, event: DocumentEvent) -> None:
        for found in list(self._offered.values()):
            if found.edit.uri != event.uri or found.reply.done():
                continue
            now = self._documents.get(event.uri)
            if now is None:
                found.reply.set_result(Reply("no", "the document was closed"))
            elif now.text != found.text:
                # Applied or not: the caller compares the new text with the edit.
                found.reply.set_result(Reply("no", "the text changed meanwhile"))


def _first_line(edit: types.WorkspaceEdit) -> int:
    for change in edit.document_changes or ():
        if isinstance(change, types.TextDocumentEdit):
            return min((one.range.start.line for one in _plain(change)), default=0)
    for edits in (edit.changes or {}).values():
        return min((one.range.start.line for one in edits), default=0)
    return 0


def _plain(change: types.TextDocumentEdit) -> list[types.TextEdit]:
    return [one for one in change.edits if isinstance(one, types.TextEdit)]
