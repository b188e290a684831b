"""The command that restores files to the beginning of a turn, or to before one of its calls."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.review_carrying import carry_out_restore
from agent_ls.lsp.marks.review_choice import Chooser, ReviewArgument
from agent_ls.review.restore import RestorePoint, calls_that_changed, moment_before
from agent_ls.session.session import Session


async def restore(edge: Edge, asked: ReviewArgument) -> bool:
    """Restore all files changed since the given point.

    Without an argument: the beginning of the newest turn that changed files.
    """
    asked.refuse("everything", "uri", "line", "last_line", because="a restore is about all files")
    if asked.hunk_ids is not None:
        asked.refuse("turn_id", "call_id", because="hunkIds says which moment is meant")
    elif asked.turn_id is None:
        asked.refuse("call_id", because="without turnId it means nothing")
    if asked.turn_id is None and asked.hunk_ids is None and asked != ReviewArgument():
        raise AgentLsError("agent-ls.restore needs a turn's id, or nothing for the newest.")
    if asked.hunk_ids is not None and len(asked.hunk_ids) != 1:
        raise AgentLsError("agent-ls.restore goes back to before one change: one of hunkIds.")
    await edge.sessions.review()
    session, point = await _found(edge.chooser, asked)
    if session.state.is_running:
        raise AgentLsError("A turn is running; stop it before you restore files.")
    work = carry_out_restore(session, point, edge.editor, edge.review_documents)
    edge.spawn(work, is_request=True)
    return True


async def _found(chooser: Chooser, asked: ReviewArgument) -> tuple[Session, RestorePoint]:
    """Return the restore point: before a change, before a call, or a turn's beginning.

    Errors: ``AgentLsError`` for an unknown or ambiguous id.
    """
    if asked.hunk_ids is not None:
        ((session, _),) = await chooser.named(asked.session_id, None, None, asked.hunk_ids)
        point = moment_before(await session.review.ledger(), asked.hunk_ids[0])
        if point is None:
            raise AgentLsError(f"No call of the agent's made the change {asked.hunk_ids[0]}.")
        return session, point
    if asked.turn_id is None:
        touching = [one for one in await chooser.turns(None, None) if one[1].files]
        if not touching:
            raise AgentLsError("There is no turn in the open sessions that touched files.")
        session, turn = touching[0]
    else:
        session, turn = await chooser.turn(asked.session_id, asked.turn_id)
    point = RestorePoint(turn.turn_id, asked.call_id or "")
    changed = calls_that_changed(await session.review.ledger(), turn.turn_id)
    if point.call_id and point.call_id not in changed:
        raise AgentLsError(f"The turn has no call {point.call_id} that changed files.")
    return session, point
