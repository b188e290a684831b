"""``agent/sessions/list``: the sessions of this workspace."""

from __future__ import annotations

from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.SessionsListParams) -> wire.SessionsListResult:
    """Return them, newest first."""
    cut_off = {one.session_id for one in await edge.sessions.interrupted()}
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
                is_interrupted=one.session_id in cut_off,
                is_open=is_open,
                forked_from=one.forked_from,
                is_dry_run=one.is_dry_run,
                cost=wire.Cost(amount=one.cost_usd),
            )
        )
    return wire.SessionsListResult(sessions=rows)
