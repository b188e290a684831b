"""``agent/editorDiagnostics``: what the editor knows of a document, other servers' included."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.EditorDiagnosticsParams) -> None:
    """Keep it; it replaces what was said of the document before."""
    if params.diagnostics:
        edge.foreign_diagnostics[params.uri] = params.diagnostics
    else:
        edge.foreign_diagnostics.pop(params.uri, None)
