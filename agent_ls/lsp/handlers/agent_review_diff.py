"""``agent/review/diff``: both sides of a file's change, for the client's diff editor."""

from __future__ import annotations

from agent_ls.domain.errors import AgentLsError
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.ReviewDiffParams) -> wire.ReviewDiffResult:
    """Return the text before the turn's first edit and after its last.

    For a binary file: its kind and size.
    """
    _, turn = await edge.chooser.turn(params.session_id, params.turn_id)
    file = next(iter(turn.at(params.path)), None)
    if file is None:
        raise AgentLsError(f"The agent changed no {params.path} in turn {params.turn_id}.")
    if file.images is not None:
        before, after = (one and f"{one.words}\n" for one in file.images)
        return wire.ReviewDiffResult(before=before, after=after, uri=None)
    uri = edge.attention.uri(file.path)
    return wire.ReviewDiffResult(before=file.base, after=file.text, uri=uri)
