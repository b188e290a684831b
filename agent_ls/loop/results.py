"""The result that an ended turn's state adds up to."""

from __future__ import annotations

from agent_ls.domain.errors import bug
from agent_ls.domain.events import Answered, ChildEnded, EffectSimulated, ToolCallFinished
from agent_ls.domain.results import TurnResult
from agent_ls.domain.stops import TurnStatus
from agent_ls.loop.state import SessionState, TurnState


def result_of(session: SessionState) -> TurnResult:
    """Return the result of the session's last turn, which must have ended."""
    turn = session.turn
    if turn is None or turn.ended is None:
        raise bug("the result of a turn was asked for before its end")
    events = [stored.event for stored in turn.events]
    changed = [path for path, file in turn.touched.items() if file.before_blob != file.after_blob]
    return TurnResult(
        session_id=session.session_id,
        turn_id=turn.turn_id,
        success=turn.ended.status is TurnStatus.SUCCESS,
        status=turn.ended.status,
        stop_reason=turn.ended.stop,
        failure_reason=turn.ended.failure_reason,
        open_tasks=turn.ended.open_tasks,
        output=turn.ended.output,
        model=session.model,
        steps=steps_of(turn),
        tool_calls=sum(isinstance(event, ToolCallFinished) for event in events),
        usage=turn.usage,
        cost_usd=turn.usage.cost_usd,
        duration_s=(turn.events[-1].at_ms - turn.events[0].at_ms) / 1000,
        files=() if session.is_dry_run else tuple(sorted(changed)),
        simulated=simulated_in(turn),
    )


def steps_of(turn: TurnState) -> int:
    """Return how many steps a turn took; closing words are said within the last one."""
    return len({answered.step_id for answered in turn.events.each(Answered)})


def simulated_in(turn: TurnState) -> tuple[str, ...]:
    """Return what a dry run left out, in order, and its sub-agents with it."""
    found: list[str] = []
    for stored in turn.events:
        match stored.event:
            case EffectSimulated(what=what):
                found.append(what)
            case ChildEnded(simulated=simulated):
                found += simulated
            case _:
                pass
    return tuple(found)
