"""``workspace/didChangeConfiguration``: the editor's settings are others now."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.connection.options import settings_of
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.opening import configuration


async def handle(edge: Edge, params: types.DidChangeConfigurationParams) -> None:
    """Take the settings over; some editors send none and want to be asked."""
    found = settings_of(params.settings) or await configuration(edge.server)
    edge.editor_settings = {**edge.initial_settings, **found}
    await edge.reload()
