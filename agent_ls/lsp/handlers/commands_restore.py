"""The command that brings files back to the beginning of a turn."""

from __future__ import annotations

from typing import Any

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.review_carrying import tell
from agent_ls.lsp.review_choice import read_argument


async def restore(edge: Edge, argument: Any = None) -> bool:
    """Bring the files that a turn and later ones touched back to its beginning.

    Without an argument: the newest turn that touched files.
    """
    wanted = None if argument is None else read_argument(argument).turn_id
    if argument is not None and wanted is None:
        raise AgentLsError("agent-ls.restore needs a turn's id, or nothing for the newest.")
    await edge.review_session()
    async for session, turn in edge.reviews.turns():
        if turn.turn_id == wanted or (wanted is None and turn.files):
            if session.state.is_running:
                raise AgentLsError("A turn is running; stop it before you restore files.")
            edge.spawn(_restore(edge, session.id, turn.turn_id))
            return True
    raise AgentLsError("There is no such turn in the open sessions.")


async def _restore(edge: Edge, session_id: str, turn_id: str) -> None:
    session = edge.faces.sessions[session_id]
    results = await session.review.restore(turn_id)
    await tell("restore", results, edge.editor, edge.review_documents)
