"""``agent/cancel``: stop the running turn."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.CancelParams) -> wire.CancelResult:
    """Stop it, and say whether one ran."""
    session = await edge.sessions.session(params.session_id)
    return wire.CancelResult(cancelled=await session.cancel("panel"))
