"""``agent/sessions/resume``: open a stored session."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.publisher import session_info


async def handle(edge: Edge, params: wire.SessionsResumeParams) -> wire.SessionResult:
    """Open it and, if asked, go on with a turn that was cut off."""
    session = await edge.sessions.resume(params.session_id, continue_turn=params.continue_turn)
    return wire.SessionResult(session=session_info(session.state))
