"""``workspace/didChangeWorkspaceFolders``: the folders are others now."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Work in the folders that are open now, and show what is to be reviewed there."""
    edge.refresh_roots()
    await edge.reload()
    await edge.review_open_changes()
