"""``textDocument/codeLens``: lenses on instruction comments and on the agent's changes."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.diagnostics.review_offers import review_lenses
from agent_ls.lsp.diagnostics.reviews import Change
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.handlers import comments, conversation


async def handle(context: EditorContext, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the document's lenses."""
    uri = params.text_document.uri
    if is_conversation(uri):
        return conversation.lenses(context, uri)
    if (notebook := context.server.protocol.notebooks.of_cell(uri)) is not None:
        return _in_cell(context, uri, notebook, await context.reviews.of(notebook))
    return [
        *await comments.lenses(context, uri),
        *review_lenses(uri, await context.reviews.of(uri)),
    ]


def _in_cell(
    context: EditorContext, cell: str, notebook: str, changes: Sequence[Change]
) -> list[types.CodeLens]:
    """Return the lenses of a notebook's changes that are in one of its cells."""
    lenses = list(review_lenses(notebook, changes))
    places = context.server.protocol.notebooks.cell_ranges(notebook, [one.range for one in lenses])
    return [
        types.CodeLens(types.Range(where.start, where.start), one.command)
        for one, (found, where) in zip(lenses, places, strict=True)
        if found == cell
    ]
