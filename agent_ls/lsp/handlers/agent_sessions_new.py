"""``agent/sessions/new``: begin another session."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.publisher import session_info


async def handle(edge: Edge, params: wire.SessionsNewParams) -> wire.SessionResult:
    """Begin it; it becomes the current one."""
    session = await edge.sessions.create(params.mode, params.model)
    return wire.SessionResult(session=session_info(session.state))
