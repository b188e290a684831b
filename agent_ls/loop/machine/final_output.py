"""Turns with an output schema: when the final output ends them, and its text."""

from __future__ import annotations

import json

from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.events import Answered, FinalOutputGiven, ToolCallFinished
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.loop.evidence.fingerprints import calls_of
from agent_ls.loop.turn import Move, Turn

_TOOL = "final_output"


def after_calls(turn: Turn) -> Move | None:
    """Return the move after ACT that the final output requires; None: no effect.

    A valid output goes to JUDGE. After ``max_wrong_outputs`` invalid ones the turn ends unverified.
    """
    if turn.state.output_schema is None:
        return None
    if turn.view.each_since(FinalOutputGiven, Answered):
        return Move(Phase.JUDGE)
    if _wrong(turn) >= turn.services.options.max_wrong_outputs:
        why = "The agent could not give its output in the shape that was asked for."
        return Move(Phase.DONE, StopReason.UNVERIFIED, why)
    return None


def output_text(turn: Turn) -> str | None:
    """Return the final output as JSON, a review as Markdown; None when there is none."""
    if (review := turn.state.review) is not None:
        return review.as_markdown()
    given = turn.state.final_output
    return None if given is None else json.dumps(given.value, ensure_ascii=False)


def _wrong(turn: Turn) -> int:
    """Return how many calls of the turn gave an output that does not fit the schema."""
    calls = calls_of(turn.view.each(Answered)).values()
    tried = {call.id for call in calls if call.tool == _TOOL}
    return sum(
        one.result.error is ErrorKind.STRUCTURAL and one.result.call_id in tried
        for one in turn.view.each(ToolCallFinished)
    )
