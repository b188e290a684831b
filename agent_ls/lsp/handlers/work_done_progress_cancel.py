"""``window/workDoneProgress/cancel``: the person stops a turn where its progress is shown."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: types.WorkDoneProgressCancelParams) -> None:
    """Stop the turn; nothing when it is over."""
    session_id = edge.faces.progress.session_of(str(params.token))
    if session_id is not None:
        await edge.faces.sessions[session_id].cancel("progress")
