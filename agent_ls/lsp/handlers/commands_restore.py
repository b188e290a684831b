"""The command that brings files back to the beginning of a turn, or to before a call of it."""

from __future__ import annotations

from typing import Any

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.review_carrying import carry_out_restore
from agent_ls.lsp.review_choice import ReviewArgument, read_argument
from agent_ls.session.review_ledger import RestorePoint
from agent_ls.session.review_moments import lineages, moment_before
from agent_ls.session.session import Session


async def restore(edge: Edge, argument: Any = None) -> bool:
    """Bring the files that were touched since back to how they were then.

    Without an argument: the beginning of the newest turn that touched files.
    """
    asked = read_argument(argument)
    asked.refuse("uri", "line", "last_line", because="a restore is about all files")
    if asked.hunk_ids is not None:
        asked.refuse("turn_id", "call_id", because="hunkIds says which moment is meant")
    elif asked.turn_id is None:
        asked.refuse("call_id", because="without turnId it means nothing")
    if asked.turn_id is None and asked.hunk_ids is None and asked != ReviewArgument():
        raise AgentLsError("agent-ls.restore needs a turn's id, or nothing for the newest.")
    if asked.hunk_ids is not None and len(asked.hunk_ids) != 1:
        raise AgentLsError("agent-ls.restore goes back to before one change: one of hunkIds.")
    await edge.review_session()
    # Refused are ids that are not known, and a change's that more than one session has.
    await edge.chooser.named(asked.session_id, asked.turn_id, None, asked.hunk_ids)
    session, point = await _found(edge, asked)
    if session.state.is_running:
        raise AgentLsError("A turn is running; stop it before you restore files.")
    edge.spawn(carry_out_restore(session, point, edge.editor, edge.review_documents))
    return True


async def _found(edge: Edge, asked: ReviewArgument) -> tuple[Session, RestorePoint]:
    """Return the moment that is meant: before a change, before a call, or a turn's beginning."""
    async for session, turn in edge.reviews.turns():
        if asked.session_id not in (None, session.id):
            continue
        if asked.hunk_ids is not None:
            point = moment_before(await session.review.ledger(), asked.hunk_ids[0])
            if point is not None:
                return session, point
        elif turn.turn_id == asked.turn_id or (asked.turn_id is None and turn.files):
            point = RestorePoint(turn.turn_id, asked.call_id or "")
            if point.call_id and not lineages(await session.review.ledger(), point):
                raise AgentLsError(f"The turn has no call {point.call_id} that changed files.")
            return session, point
    what = "turn" if asked.hunk_ids is None else "change"
    raise AgentLsError(f"There is no such {what} in the open sessions.")
