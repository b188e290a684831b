"""An offered edit ends in one answer: the document moves on, somebody says no, the turn is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from lsprotocol import types

from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.diagnostics.pending_edits import PendingEdits
from agent_ls.lsp.workspace.editor_port import Reply

URI = "file:///w/a.py"


async def check(
    happens: Callable[[PendingEdits, DocumentStore], object], expected: Reply | None
) -> None:
    """Offer an edit, let something happen, and see what the answer is and what is still offered."""
    documents = DocumentStore()
    documents.open(URI, "python", 1, "a\nb\n")
    told: list[int] = []
    pending = PendingEdits(documents, lambda: told.append(1))
    snapshot = documents.get(URI)
    assert snapshot is not None
    place = types.Range(types.Position(1, 0), types.Position(1, 1))
    change = types.TextDocumentEdit(
        types.OptionalVersionedTextDocumentIdentifier(uri=URI, version=1),
        [types.TextEdit(place, "c")],
    )
    reply = pending.offer(snapshot, types.WorkspaceEdit(document_changes=[change]), "Change b")
    assert [(one.label, one.line) for one in pending.all()] == [("Change b", 1)]
    happens(pending, documents)
    await asyncio.sleep(0)
    assert (reply.result() if reply.done() else None) == expected
    assert (pending.all() == []) == (expected is not None)
    assert len(told) == (1 if expected is None else 2)


def _typed(_: PendingEdits, documents: DocumentStore) -> None:
    documents.change(URI, 2, [Change("other")])


@pytest.mark.parametrize(("happens", "expected"), [
    pytest.param(lambda pending, documents: None, None, id="it-waits"),
    pytest.param(_typed, Reply("no", "the text changed meanwhile"), id="the-text-moves-on"),
    pytest.param(lambda pending, documents: documents.save(URI), None, id="saving-is-no-answer"),
    pytest.param(lambda pending, documents: documents.close(URI),
                 Reply("no", "the document was closed"), id="the-document-is-closed"),
    pytest.param(lambda pending, documents: pending.discard(pending.all()[0].id),
                 Reply("no", "the user discarded it"), id="the-user-says-no"),
    pytest.param(lambda pending, documents: pending.discard("edit-99"), None, id="an-unknown-no"),
    pytest.param(lambda pending, documents: pending.apply_all(), Reply("now"), id="apply-all"),
    pytest.param(lambda pending, documents: pending.withdraw(),
                 Reply("no", "the turn is over"), id="the-turn-is-over"),
])  # fmt: skip
async def test_an_offered_edit_has_one_answer(
    happens: Callable[[PendingEdits, DocumentStore], object], expected: Reply | None
) -> None:
    await check(happens, expected)
