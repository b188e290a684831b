"""Session requests, and settings of a session: mode, model, trusted folders."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_ls import catalogue
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.modes import MODE_WORDS
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.faces.publisher import session_info

_OFFERED = 5


class DeclineParams(wire.Deciding):
    """Do not resume now."""

    session_id: wire.Name | None = None
    """Null: all that were cut off."""


class ForkParams(wire.Deciding):
    """Begin a session that knows what another one knew after a turn."""

    session_id: wire.Name | None = None
    """Null: the current session."""
    turn: Annotated[int, Field(strict=True, ge=1)] | wire.Name | None = None
    """An id, or a number from 1; null: the newest turn that is over."""


async def list_sessions(edge: Edge, asked: wire.SessionsListParams) -> wire.SessionsListResult:
    """Return the sessions of this workspace, newest first."""
    cut_off = {one.session_id for one in await edge.sessions.interrupted()}
    rows = [
        wire.SessionRow(
            session_id=one.session_id,
            title=one.title,
            updated_ms=one.updated_ms,
            turns=one.turns,
            status=one.status,
            is_interrupted=one.session_id in cut_off,
            is_open=one.session_id in edge.faces.sessions,
            forked_from=one.forked_from,
            is_dry_run=one.is_dry_run,
            cost=wire.Cost(amount=one.cost_usd),
        )
        for one in await edge.sessions.list()
    ]
    return wire.SessionsListResult(sessions=rows)


async def offer_sessions(edge: Edge, asked: wire.SessionsListParams) -> wire.SessionsListResult:
    """Return the sessions, and offer the newest in a message box."""
    found = await list_sessions(edge, asked)
    if found.sessions:
        edge.spawn(_offer(edge))
    return found


async def _offer(edge: Edge) -> None:
    titles: dict[str, str] = {}
    for number, one in enumerate((await edge.sessions.list())[:_OFFERED], 1):
        title = one.title or "untitled"
        titles[f"{number}. {title} ({one.kind})" if one.kind else f"{number}. {title}"] = (
            one.session_id
        )
    chosen = await edge.editor.choose("Open a session:", list(titles))
    if chosen is not None:
        async with edge.changeover.work():
            await edge.sessions.resume(titles[chosen])


async def new(edge: Edge, asked: wire.SessionsNewParams) -> wire.SessionResult:
    """Create a session and make it the current one."""
    session = await edge.sessions.create(asked.mode, asked.model)
    return wire.SessionResult(session=session_info(session.state))


async def resume(edge: Edge, asked: wire.SessionsResumeParams) -> wire.SessionResult:
    """Open a session and continue its interrupted turn, unless ``continue_turn`` is false."""
    session_id = asked.session_id
    if session_id is None:
        interrupted = await edge.sessions.interrupted()
        if not interrupted:
            raise AgentLsError("No session of this workspace was cut off.")
        session_id = interrupted[0].session_id
    session = await edge.sessions.resume(session_id, continue_turn=asked.continue_turn)
    return wire.SessionResult(session=session_info(session.state))


async def decline(edge: Edge, asked: DeclineParams) -> None:
    """Say nothing more of an interrupted turn at a start; it can still be resumed."""
    shown = [one for one in edge.faces.sessions.values() if asked.session_id in (None, one.id)]
    declined = [await one.decline() for one in shown if one.is_cut_off]
    if not any(declined):
        raise AgentLsError("No session that is shown here was cut off.")
    edge.editor.confirm("Not resumed. agent-ls.session.resume still does it.")


async def fork(edge: Edge, asked: ForkParams) -> wire.SessionResult:
    """Fork a session after a turn; the fork becomes the current session."""
    session_id = asked.session_id
    if session_id is None:
        current = await edge.sessions.current()
        if current is None:
            raise AgentLsError("There is no session yet to branch off from.")
        session_id = current.id
    turn = None if asked.turn is None else str(asked.turn)
    return wire.SessionResult(
        session=session_info((await edge.sessions.fork(session_id, turn)).state)
    )


async def snapshot(edge: Edge, asked: wire.SnapshotParams) -> wire.SnapshotResult:
    """Return a session's updates up to now; later ones follow as ``agent/update``."""
    publisher = edge.faces.publisher
    if publisher is None:
        raise AgentLsError(
            "To use agent/snapshot opt in with initializationOptions.agent.version and "
            "capabilities.experimental.agent."
        )
    session = await edge.sessions.session(asked.session_id)
    return publisher.snapshot(session.state, await session.journal())


async def choose(edge: Edge, asked: wire.ConfigParams) -> wire.ConfigResult:
    """Change an option by a command, and say how it is; without an argument only that."""
    options = await configure(edge, asked)
    said = [] if asked.mode is None and asked.model else [f"Mode: {options.mode}."]
    said += [] if asked.model is None and asked.mode else [f"Model: {options.model}."]
    edge.editor.confirm(" ".join(said))
    return options


async def configure(edge: Edge, asked: wire.ConfigParams) -> wire.ConfigResult:
    """Change the given options and return all of them."""
    policies = [one.name for one in catalogue.POLICIES]
    if asked.silence is not None and asked.silence not in policies:
        raise AgentLsError(f"There is no policy {asked.silence}, only {', '.join(policies)}.")
    # Only after the refusals: this creates the current session if there is none.
    session = await edge.sessions.session(asked.session_id)
    if asked.mode is not None:
        await session.set_mode(asked.mode)
    if asked.model is not None:
        await session.set_model(asked.model)
    if asked.silence is not None:
        await session.silence(asked.silence)
    state = session.state
    return wire.ConfigResult(
        session_id=state.session_id,
        mode=state.mode,
        model=state.model,
        silenced=sorted(state.silenced),
        modes=[
            wire.ModeInfo(id=mode, name=name, description=description)
            for mode, (name, description) in MODE_WORDS.items()
        ],
        roots=[
            wire.RootInfo(
                name=root.name, uri=edge.workspace.uri_at(root.path), is_trusted=root.is_trusted
            )
            for root in edge.workspace.roots
        ],
        problems=list(edge.loaded.problems),
    )
