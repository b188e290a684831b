"""Commands for sessions and what holds in them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.modes import Mode
from agent_ls.loop.ports.store import SessionSummary
from agent_ls.lsp.connection.arguments import Takes
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.wire import ModelName, Name

CutOff = Annotated[Name | None, Takes("a session's id, or nothing for the one last cut off")]
Source = Annotated[Name | None, Takes("a session's id, or nothing for the current one")]
Number = Annotated[int, Field(strict=True, ge=1)]
OneTurn = Annotated[Number | Name | None, Takes("a turn's id or its number from 1")]
OneMode = Annotated[Mode, Takes(f"one of: {', '.join(Mode)}")]
OneModel = Annotated[ModelName, Takes("the model's name, such as ollama_chat/qwen3")]

_OFFERED = 5
_CHOOSING_S = 600.0


async def list_sessions(edge: Edge) -> list[dict[str, Any]]:
    """Return the sessions of this workspace, newest first, and offer the newest to open."""
    found = await edge.sessions.list()
    cut_off = {one.session_id for one in await edge.sessions.interrupted()}
    if found:
        edge.spawn(_offer(edge, found[:_OFFERED]))
    return [
        {
            "sessionId": one.session_id,
            "title": one.title,
            "turns": one.turns,
            "status": "cut off" if one.session_id in cut_off else one.status,
        }
        for one in found
    ]


async def new(edge: Edge) -> str:
    """Begin another session; later prompts go there."""
    return (await edge.sessions.create()).id


async def resume(edge: Edge, session_id: CutOff = None) -> str:
    """Open a session and go on with its turn; by default the one that was cut off last."""
    if session_id is None:
        interrupted = await edge.sessions.interrupted()
        if not interrupted:
            raise AgentLsError("No session of this workspace was cut off.")
        session_id = interrupted[0].session_id
    return (await edge.sessions.resume(session_id)).id


async def fork(edge: Edge, session_id: Source = None, turn: OneTurn = None) -> str:
    """Begin a session that knows what another one knew after a turn, and make it the current one.

    By default the current session, after its newest turn that is over; a turn is an id or a
    number from 1.
    """
    if session_id is None:
        current = await edge.sessions.current()
        if current is None:
            raise AgentLsError("There is no session yet to branch off from.")
        session_id = current.id
    named = None if turn is None else str(turn)
    return (await edge.sessions.fork(session_id, named)).id


async def mode(edge: Edge, name: OneMode) -> str:
    """Switch the permission mode."""
    session = await edge.sessions.session()
    await session.set_mode(name)
    return session.state.mode


async def model(edge: Edge, name: OneModel) -> str:
    """Switch the model."""
    session = await edge.sessions.session()
    await session.set_model(name)
    return session.state.model


def _title(one: SessionSummary) -> str:
    title = one.title or "untitled"
    return f"{title} ({one.kind})" if one.kind else title


async def _offer(edge: Edge, found: list[SessionSummary]) -> None:
    titles = {f"{number}. {_title(one)}": one for number, one in enumerate(found, 1)}
    chosen = await edge.editor.choose("Open a session:", list(titles), timeout_s=_CHOOSING_S)
    if chosen is not None:
        async with edge.changeover.request():
            await edge.sessions.resume(titles[chosen].session_id)
