"""``agent/prompt``: say something to the agent."""

from __future__ import annotations

from agent_ls.domain.goals import goal_from, typed
from agent_ls.loop.evidence.output_schema import check_schema
from agent_ls.lsp import wire
from agent_ls.lsp.edge import Edge


async def handle(edge: Edge, params: wire.PromptParams) -> wire.PromptResult:
    """Start a turn, or queue while one runs; answered at once."""
    place = params.anchor
    schema = params.output_schema
    output_schema = None if schema is None else check_schema(schema, "outputSchema")
    if params.goal is None:
        text, goal = typed(params.text)
    else:
        text, goal = params.text, goal_from(params.goal, name="goal")
    session = await edge.sessions.session(params.session_id)
    turn_id = await session.submit(
        text,
        anchor=edge.attention.anchor(place.uri, place.line) if place else None,
        goal=goal,
        focus=edge.focus(place.uri, (place.line, place.last_line)) if place else edge.focus(),
        output_schema=output_schema,
        when_busy=params.when_busy,
    )
    return wire.PromptResult(session_id=session.id, turn_id=turn_id)
