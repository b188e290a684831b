"""``agent/review/decide``: a decision of the panel's about the agent's changes."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.review_carrying import tell_left
from agent_ls.session.review_ledger import Selection
from agent_ls.session.review_steps import FileResult
from agent_ls.session.session import Session


async def handle(edge: Edge, params: wire.ReviewDecideParams) -> wire.ReviewDecideResult:
    """Carry it out; what became of each file is the answer, and shown is only what is left."""
    await edge.review_session()
    sessions = [
        one for one in list(edge.faces.sessions.values()) if params.session_id in (None, one.id)
    ]
    if params.decision == "restore":
        results = await _restored(sessions, params)
    elif params.dry_run:
        raise AgentLsError("Only a restore can be tried without doing it.")
    else:
        hunks = None if params.hunk_ids is None else frozenset(params.hunk_ids)
        chosen = Selection(params.turn_id, params.path, hunks)
        results = [
            result
            for one in sessions
            for result in await one.review.decide(params.decision, chosen)
        ]
        if params.decision == "undo":
            await tell_left([(one, chosen) for one in sessions], edge.editor)
    return wire.ReviewDecideResult(files=[_told(edge, one) for one in results])


async def _restored(sessions: list[Session], params: wire.ReviewDecideParams) -> list[FileResult]:
    if params.turn_id is None:
        raise AgentLsError("A restore needs the turn to whose beginning it goes back.")
    for one in sessions:
        if params.turn_id in (await one.review.ledger()).turns:
            call_id = params.tool_call_id or ""
            return await one.review.restore(params.turn_id, call_id, dry_run=params.dry_run)
    raise AgentLsError(f"There is no turn {params.turn_id} in the open sessions.")


def _told(edge: Edge, result: FileResult) -> wire.ReviewFileResult:
    clash = result.clash
    return wire.ReviewFileResult(
        location=wire.Location(path=result.path, uri=edge.attention.uri(result.path), line=None),
        turn_id=result.turn_id,
        status=result.status,
        hunks=result.hunks,
        reason=result.reason,
        edit=result.edit,
        conflict=wire.ReviewConflict(now=clash.now, wanted=clash.wanted)
        if clash is not None and clash.has_texts
        else None,
    )
