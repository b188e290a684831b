"""``agent/review/decide``: a decision of the panel's about the agent's changes."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.session.review import FileResult
from agent_ls.session.review_ledger import Selection


async def handle(edge: Edge, params: wire.ReviewDecideParams) -> wire.ReviewDecideResult:
    """Carry it out; what became of each file is the answer, and nothing else is shown."""
    await edge.review_session()
    hunks = None if params.hunk_ids is None else frozenset(params.hunk_ids)
    chosen = Selection(params.turn_id, params.path, hunks)
    results: list[FileResult] = []
    for session in list(edge.faces.sessions.values()):
        if params.session_id not in (None, session.id):
            continue
        if params.decision != "restore":
            results += await session.review.decide(params.decision, chosen)
        elif params.turn_id is None:
            raise AgentLsError("A restore needs the turn to whose beginning it goes back.")
        elif params.turn_id in (await session.review.ledger()).turns:
            results += await session.review.restore(params.turn_id, params.tool_call_id or "")
    return wire.ReviewDecideResult(
        files=[
            wire.ReviewFileResult(
                location=wire.Location(path=one.path, uri=edge.attention.uri(one.path), line=None),
                turn_id=one.turn_id,
                status=one.status,
                hunks=one.hunks,
                reason=one.reason,
            )
            for one in results
        ]
    )
