"""``textDocument/codeLens``: lenses on instruction comments and on the agent's changes."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.handlers import comments, conversation
from agent_ls.lsp.marks.review_offers import review_lenses
from agent_ls.lsp.marks.reviews import Change


async def handle(edge: Edge, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the document's lenses."""
    uri = params.text_document.uri
    if is_conversation(uri):
        return conversation.lenses(edge, uri)
    if (notebook := edge.server.protocol.notebooks.of_cell(uri)) is not None:
        return _in_cell(edge, uri, notebook, await edge.reviews.of(notebook))
    return [*await comments.lenses(edge, uri), *review_lenses(uri, await edge.reviews.of(uri))]


def _in_cell(
    edge: Edge, cell: str, notebook: str, changes: Sequence[Change]
) -> list[types.CodeLens]:
    """Return the lenses of a notebook's changes that are in one of its cells."""
    lenses = list(review_lenses(notebook, changes))
    places = edge.server.protocol.notebooks.cell_ranges(notebook, [one.range for one in lenses])
    return [
        types.CodeLens(types.Range(where.start, where.start), one.command)
        for one, (found, where) in zip(lenses, places, strict=True)
        if found == cell
    ]
