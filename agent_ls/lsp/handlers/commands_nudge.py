"""Commands for an agent that said it would act and did not."""

from __future__ import annotations

from typing import Any

from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks import INCOMPLETE_ACTION
from agent_ls.lsp.prompts import CONTINUE
from agent_ls.session.session import Session


async def go_on(edge: Edge, session_id: Any = None) -> bool:
    """Tell the agent to do what it announced."""
    session = await edge.session(_id(session_id))
    await session.submit(CONTINUE, anchor=_anchor(session))
    return True


async def leave(edge: Edge, session_id: Any = None) -> bool:
    """Leave it at that: a turn that goes on is stopped, a hint goes away."""
    session = await edge.session(_id(session_id))
    if session.state.turn is not None:
        edge.faces.marks.leave(session.state.turn.turn_id)
    await session.cancel("nudge")
    return True


async def silence(edge: Edge, session_id: Any = None) -> bool:
    """Never nudge in this session again."""
    session = await edge.session(_id(session_id))
    await session.silence(INCOMPLETE_ACTION)
    return True


def _id(session_id: Any) -> str | None:
    return session_id if isinstance(session_id, str) else None


def _anchor(session: Session) -> Any:
    turn = session.state.turn
    return turn.anchor if turn else None
