"""``agent/editorDiagnostics``: what the editor knows of a document, other servers' included."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.mark import SOURCE


async def handle(edge: Edge, params: wire.EditorDiagnosticsParams) -> None:
    """Keep it; it replaces what was said of the document before."""
    # What the agent itself shows there is no problem for it to read about.
    others = [one for one in params.diagnostics if one.source != SOURCE]
    if others:
        edge.foreign_diagnostics[params.uri] = others
    else:
        edge.foreign_diagnostics.pop(params.uri, None)
