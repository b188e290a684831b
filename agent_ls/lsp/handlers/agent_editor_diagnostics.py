"""``agent/editorDiagnostics``: what the editor knows of a document, other servers' included."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.mark import SOURCE

_MOST_FILES = 1_000
"""What was told longest ago is forgotten."""


async def handle(edge: Edge, params: wire.EditorDiagnosticsParams) -> None:
    """Keep it; it replaces what was said of the document before."""
    # What the agent itself shows there is no problem for it to read about.
    others = [one for one in params.diagnostics if one.source != SOURCE]
    known = edge.foreign_diagnostics
    known.pop(params.uri, None)
    if others:
        known[params.uri] = others
        while len(known) > _MOST_FILES:
            del known[next(iter(known))]
