"""``workspace/textDocumentContent``: the text of an ``agent-ls:`` document."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.editor_context import EditorContext


async def handle(
    context: EditorContext, params: types.TextDocumentContentParams
) -> types.TextDocumentContentResult:
    """Return the document's text."""
    text = context.review_documents.text(params.uri)
    if text is None:
        raise AgentLsError(f"{params.uri} is not there any more; run agent-ls.review.diff again.")
    return types.TextDocumentContentResult(text)
