"""Commands for an agent that said it would act and did not."""

from __future__ import annotations

from typing import Annotated

from agent_ls.domain.events import Anchor
from agent_ls.lsp.connection.arguments import Takes
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.marks import INCOMPLETE_ACTION
from agent_ls.lsp.marks.prompts import CONTINUE
from agent_ls.lsp.wire import Name
from agent_ls.session.session import Session

OneSession = Annotated[Name, Takes("a session's id")]


async def go_on(edge: Edge, session_id: OneSession) -> bool:
    """Tell the agent to do what it announced."""
    session = await edge.sessions.session(session_id)
    await session.submit(CONTINUE, anchor=_anchor(session))
    return True


async def leave(edge: Edge, session_id: OneSession) -> bool:
    """Leave it at that: a turn that goes on is stopped, a hint goes away."""
    session = await edge.sessions.session(session_id)
    if session.state.turn is not None:
        edge.faces.marks.leave(session.id, session.state.turn.turn_id)
    await session.cancel("nudge")
    return True


async def silence(edge: Edge, session_id: OneSession) -> bool:
    """Never nudge in this session again."""
    session = await edge.sessions.session(session_id)
    await session.silence(INCOMPLETE_ACTION)
    return True


def _anchor(session: Session) -> Anchor | None:
    turn = session.state.turn
    return turn.anchor if turn else None
