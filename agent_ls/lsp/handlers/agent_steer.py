"""``agent/steer``: say something to the running turn."""

from __future__ import annotations

from agent_ls.domain.goals import typed
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.SteerParams) -> wire.PromptResult:
    """Steer the turn; start one when none runs."""
    text, goal = typed(params.text)
    session = await edge.sessions.session(params.session_id)
    turn_id = await session.submit(text, goal=goal, focus=edge.focus(), when_busy="steer")
    return wire.PromptResult(session_id=session.id, turn_id=turn_id)
