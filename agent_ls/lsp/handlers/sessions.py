"""Begins, opens and forks sessions; settings of a session: mode, model, trusted folders."""

from __future__ import annotations

import asyncio

from agent_ls import catalogue
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.modes import MODE_WORDS
from agent_ls.loop.state.folding import fold_all
from agent_ls.lsp import wire
from agent_ls.lsp.editor_context import EditorContext
from agent_ls.lsp.presenters.publisher import session_info
from agent_ls.session.session import Session


class DeclineParams(wire.Deciding):
    """Do not resume now."""

    session_id: wire.Name | None = None
    """Null: all that were cut off."""


async def new(context: EditorContext, asked: wire.SessionsNewParams) -> wire.SessionResult:
    """Create a session and make it the current one."""
    return _result(await context.sessions.create(asked.mode, asked.model))


async def resume(context: EditorContext, asked: wire.SessionsResumeParams) -> wire.SessionResult:
    """Open a session and continue its interrupted turn, unless ``continue_turn`` is false."""
    session_id = asked.session_id
    if session_id is None:
        interrupted = await context.sessions.stored.interrupted()
        if not interrupted:
            raise AgentLsError("No session of this workspace was cut off.")
        session_id = interrupted[0].session_id
    return _result(await context.sessions.resume(session_id, continue_turn=asked.continue_turn))


def _result(session: Session) -> wire.SessionResult:
    info = session_info(session.state, is_interrupted=session.is_cut_off)
    return wire.SessionResult(session=info)


async def decline(context: EditorContext, asked: DeclineParams) -> None:
    """Say nothing more of an interrupted turn at a start; it can still be resumed."""
    shown = [
        one for one in context.presenters.sessions.values() if asked.session_id in (None, one.id)
    ]
    declined = [await one.decline() for one in shown if one.is_cut_off]
    if not any(declined):
        raise AgentLsError("No session that is shown here was cut off.")
    context.editor.confirm("Not resumed. agent-ls.session.resume still does it.")


async def fork(context: EditorContext, asked: wire.SessionsForkParams) -> wire.SessionResult:
    """Fork a session after a turn, or before it; the fork becomes the current session."""
    session_id = asked.session_id
    if session_id is None:
        current = await context.sessions.current()
        if current is None:
            raise AgentLsError("There is no session yet to branch off from.")
        session_id = current.id
    turn = None if asked.turn is None else str(asked.turn)
    session = await context.sessions.fork(session_id, turn, is_before=asked.is_before)
    return _result(session)


async def snapshot(context: EditorContext, asked: wire.SnapshotParams) -> wire.SnapshotResult:
    """Return a session's updates up to now; later ones follow as ``agent/update``.

    Of a sub-agent's session nothing follows: it is asked for again.
    """
    publisher = context.presenters.publisher
    if publisher is None:
        raise AgentLsError(
            "To use agent/snapshot opt in with initializationOptions.agent.version and "
            "capabilities.experimental.agent."
        )
    is_shown = asked.session_id is None or asked.session_id in context.presenters.sessions
    journal = [] if is_shown else await context.sessions.stored.sub_agent(asked.session_id or "")
    if journal:
        return publisher.snapshot(fold_all(journal), journal)
    session = await context.sessions.session(asked.session_id)
    await session.stored()
    journal = await session.journal()
    await publisher.catch_up(session.id, journal)
    if not journal or journal[-1].seq != session.state.seq:
        journal = await session.journal()
    return publisher.snapshot(session.state, journal, is_interrupted=session.is_cut_off)


async def choose(context: EditorContext, asked: wire.ConfigParams) -> wire.ConfigResult:
    """Change an option by a command, and say how it is; without an argument only that."""
    options = await configure(context, asked)
    if asked.effort is not None:
        context.editor.confirm(f"Effort: {options.effort or 'as the setting says'}.")
        return options
    said = [] if asked.mode is None and asked.model else [f"Mode: {options.mode}."]
    said += [] if asked.model is None and asked.mode else [f"Model: {options.model}."]
    context.editor.confirm(" ".join(said))
    return options


async def configure(context: EditorContext, asked: wire.ConfigParams) -> wire.ConfigResult:
    """Change the given options and return all of them."""
    policies = [one.name for one in catalogue.POLICIES]
    if asked.silence is not None and asked.silence not in policies:
        raise AgentLsError(f"There is no policy {asked.silence}, only {', '.join(policies)}.")
    if asked.effort:
        await _check_effort(context, asked)
    # Only after the refusals: this creates the current session if there is none.
    session = await context.sessions.session(asked.session_id)
    if asked.mode is not None:
        await session.set_mode(asked.mode)
    if asked.model is not None:
        await session.set_model(asked.model)
    if asked.effort is not None:
        await session.set_effort(asked.effort)
    if asked.silence is not None:
        await session.silence(asked.silence)
    state = session.state
    return wire.ConfigResult(
        session_id=state.session_id,
        mode=state.mode,
        model=state.model,
        effort=state.effort,
        silenced=sorted(state.silenced),
        modes=[
            wire.ModeInfo(id=mode, name=name, description=description)
            for mode, (name, description) in MODE_WORDS.items()
        ],
        roots=[
            wire.RootInfo(
                name=root.name, uri=context.workspace.uri_at(root.path), is_trusted=root.is_trusted
            )
            for root in context.workspace.roots
        ],
        problems=list(context.loaded.problems),
    )


async def _check_effort(context: EditorContext, asked: wire.ConfigParams) -> None:
    """Refuse an effort that the model is known not to take. Errors: ``AgentLsError``."""
    model = asked.model
    if model is None:
        model = (await context.sessions.session(asked.session_id)).state.model
    known = (await asyncio.to_thread(catalogue.MODEL_TABLE().listed)).get(model)
    if known is None or known.efforts is None or asked.effort in known.efforts:
        return
    takes = f"only {', '.join(known.efforts)}" if known.efforts else "since it does not think"
    raise AgentLsError(f"{model} takes no effort {asked.effort}, {takes}.")
