"""``agent/snapshot``: everything of a session, for a client that has just (re)loaded."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.SnapshotParams) -> wire.SnapshotResult:
    """Return the session's updates up to now; what comes later follows as ``agent/update``."""
    publisher = edge.faces.publisher
    if publisher is None:
        raise AgentLsError(
            "To use agent/snapshot opt in with initializationOptions.agent.version and "
            "capabilities.experimental.agent."
        )
    session = await edge.sessions.session(params.session_id)
    journal = await session.journal()
    return publisher.snapshot(session.state, journal)
