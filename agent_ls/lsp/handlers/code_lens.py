"""``textDocument/codeLens``: lenses on instruction comments and on the agent's changes."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.handlers import comments, conversation
from agent_ls.lsp.marks.review_offers import review_lenses


async def handle(edge: Edge, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the document's lenses."""
    uri = params.text_document.uri
    if is_conversation(uri):
        return conversation.lenses(edge, uri)
    return [*await comments.lenses(edge, uri), *review_lenses(uri, await edge.reviews.of(uri))]
