"""``agent/sessions/list``: the sessions of this workspace."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge

_RUNNING = ("running", "waiting")


async def handle(edge: Edge, params: wire.SessionsListParams) -> wire.SessionsListResult:
    """Return them, newest first."""
    rows: list[wire.SessionRow] = []
    for one in await edge.sessions.list():
        is_open = one.session_id in edge.faces.sessions
        rows.append(
            wire.SessionRow(
                session_id=one.session_id,
                title=one.title,
                updated_ms=one.updated_ms,
                turns=one.turns,
                status=one.status,
                is_interrupted=one.status in _RUNNING and not is_open,
                is_open=is_open,
                cost=wire.Cost(amount=one.cost_usd),
            )
        )
    return wire.SessionsListResult(sessions=rows)
