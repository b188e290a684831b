"""``textDocument/codeLens``: lenses on instruction comments and on the agent's changes."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.conversation.page import is_conversation
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.handlers import conversation
from agent_ls.lsp.marks.offers import comment_offer
from agent_ls.lsp.marks.review_offers import review_lenses


async def handle(edge: Edge, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the document's lenses."""
    uri = params.text_document.uri
    if is_conversation(uri):
        return conversation.lenses(edge, uri)
    lenses: list[types.CodeLens] = []
    for comment in await edge.instructions.of(uri):
        place = types.Position(comment.line, 0)
        command = comment_offer(uri, comment).command
        assert command is not None
        shown = types.Command("Run agent", command.command, arguments=command.arguments)
        lenses.append(types.CodeLens(types.Range(place, place), shown))
    return [*lenses, *review_lenses(uri, await edge.reviews.of(uri))]
