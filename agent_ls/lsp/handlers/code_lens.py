"""``textDocument/codeLens``: "Run agent" above instruction comments."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return a lens for each instruction comment of the document."""
    uri = params.text_document.uri
    lenses: list[types.CodeLens] = []
    for comment in await edge.comments(uri):
        place = types.Position(comment.line, 0)
        lenses.append(
            types.CodeLens(
                range=types.Range(place, place),
                command=types.Command(
                    title="Run agent",
                    command="agent-ls.prompt",
                    arguments=[{"uri": uri, "line": comment.line, "about": "comment"}],
                ),
            )
        )
    return lenses
