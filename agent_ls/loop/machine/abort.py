"""Gives every open call of an aborted turn its one result."""

from __future__ import annotations

from collections.abc import Iterator

from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.events import ToolCallFinished
from agent_ls.loop.state.state import TurnState


def results_of_open_calls(
    turn: TurnState, kind: ErrorKind, *, not_begun: str, begun: str
) -> Iterator[ToolCallFinished]:
    """Yield a result for each open call, saying whether it may have had an effect."""
    for one in turn.open_calls:
        text = not_begun if one.effect is None else begun
        result = ToolResult(call_id=one.call.id, text=text, error=kind)
        yield ToolCallFinished(result=result, effect=one.effect or Effect.READ)
