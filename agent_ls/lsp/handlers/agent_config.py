"""``agent/config``: a session's choices, read and changed."""

from __future__ import annotations

from agent_ls import catalogue
from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.modes import Mode
from agent_ls.lsp import wire
from agent_ls.lsp.connection.uris import path_to_uri
from agent_ls.lsp.edge import Edge

_MODES = {
    Mode.PLAN: ("Plan", "Reads and plans; changes nothing."),
    Mode.ASK_ALL: ("Ask always", "Asks before everything, reading too."),
    Mode.ASK: ("Ask", "Reads by itself; asks before edits and commands."),
    Mode.ACCEPT_EDITS: ("Accept edits", "Edits by itself too; asks before commands."),
    Mode.AUTO: ("Auto", "Asks only for what is always asked."),
}


async def handle(edge: Edge, params: wire.ConfigParams) -> wire.ConfigResult:
    """Change what is given, and return how everything is now."""
    policies = [one.name for one in catalogue.POLICIES]
    if params.silence is not None and params.silence not in policies:
        raise AgentLsError(f"There is no policy {params.silence}, only {', '.join(policies)}.")
    # After the refusals: the first request for the current session makes it.
    session = await edge.sessions.session(params.session_id)
    if params.mode is not None:
        await session.set_mode(params.mode)
    if params.model is not None:
        await session.set_model(params.model)
    if params.silence is not None:
        await session.silence(params.silence)
    state = session.state
    return wire.ConfigResult(
        session_id=state.session_id,
        mode=state.mode,
        model=state.model,
        silenced=sorted(state.silenced),
        modes=[
            wire.ModeInfo(id=mode, name=name, description=description)
            for mode, (name, description) in _MODES.items()
        ],
        roots=[
            wire.RootInfo(name=root.name, uri=path_to_uri(root.path), is_trusted=root.is_trusted)
            for root in edge.workspace.roots
        ],
        problems=list(edge.loaded.problems),
    )
