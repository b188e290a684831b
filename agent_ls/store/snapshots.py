"""What a turn adds up to for its execution's row: a tally by event, and the snapshot at its end.

Source: seed 004, "TaskState Structure".
"""

from __future__ import annotations

from pydantic import JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.calls import ErrorKind
from agent_ls.domain.confidence import judgement_in
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.store.changes import SUMMARY_CHARACTERS, Cursor, TurnTally, cut

_KEPT = 5
_CONFIDENCE = "confidence"


def tallied(cursor: Cursor, event: ev.Event) -> Cursor:
    """Return the cursor with the event counted in its turn."""
    progress = cursor.progress.after(event)
    turn = _counted(cursor.turn, event)
    if progress is cursor.progress and turn is cursor.turn:
        return cursor
    return cursor.model_copy(update={"progress": progress, "turn": turn})


def _counted(turn: TurnTally, event: ev.Event) -> TurnTally:
    match event:
        case ev.TurnStarted(prompt=prompt, goal=goal):
            return TurnTally(
                goal=cut(goal.text if goal else prompt, SUMMARY_CHARACTERS),
                acceptance_criteria=tuple(one.text for one in goal.acceptance) if goal else (),
                constraints=goal.constraints if goal else (),
            )
        case ev.RequestPrepared(number=number):
            return turn.model_copy(update={"current_step": number})
        case ev.AttemptFinished(usage=usage):
            return _spent(turn, usage.total_tokens, usage.cost_usd, llm_calls=1)
        case ev.AdviceGiven(usage=usage):
            turn = _spent(turn, usage.total_tokens, usage.cost_usd, llm_calls=1)
            return _with_confidence(turn, event)
        case ev.ChildEnded(usage=usage):
            return _spent(turn, usage.total_tokens, usage.cost_usd)
        case ev.Answered(message=message):
            reason = message.reasoning or (message.text if message.calls else "")
            if not reason:
                return turn
            kept = (*turn.decision_reasoning, cut(reason, SUMMARY_CHARACTERS))[-_KEPT:]
            return turn.model_copy(update={"decision_reasoning": kept})
        case ev.ToolCallFinished() as finished:
            return _with_result(turn, finished)
        case _:
            return turn


def _spent(turn: TurnTally, tokens: int, cost_usd: float, *, llm_calls: int = 0) -> TurnTally:
    return turn.model_copy(
        update={
            "llm_calls": turn.llm_calls + llm_calls,
            "total_tokens": turn.total_tokens + tokens,
            "total_cost_usd": turn.total_cost_usd + cost_usd,
        }
    )


def _with_confidence(turn: TurnTally, event: ev.AdviceGiven) -> TurnTally:
    """Take down what the side model said when it was asked how sure it is."""
    if event.origin != _CONFIDENCE:
        return turn
    return turn.model_copy(
        update={
            "last_confidence_check_step": turn.current_step,
            "last_confidence_score": judgement_in(event.text).score,
        }
    )


def _with_result(turn: TurnTally, event: ev.ToolCallFinished) -> TurnTally:
    result = event.result
    executions = turn.tool_executions + 1
    if result.error is None or result.error is ErrorKind.CANCELLED:
        return turn.model_copy(update={"tool_executions": executions, "consecutive_failures": 0})
    said = f"{result.error.value}: {cut(result.text, SUMMARY_CHARACTERS)}"
    return turn.model_copy(
        update={
            "tool_executions": executions,
            "failure_count": turn.failure_count + 1,
            "consecutive_failures": turn.consecutive_failures + 1,
            "last_errors": (*turn.last_errors, said)[-_KEPT:],
        }
    )


def snapshot(cursor: Cursor, event: ev.TurnEnded) -> dict[str, JsonValue]:
    """Return the turn's final state."""
    is_escalated = event.status is TurnStatus.ESCALATED
    progress = cursor.progress
    return {
        **cursor.turn.model_dump(mode="json"),
        "output": cut(event.output),
        "open_tasks": list(event.open_tasks),
        "plan": list(cursor.plan),
        "files": list(cursor.files),
        "last_step_id": cursor.step_id,
        "progress_score": progress.score,
        "progress_by": progress.by,
        "progress_metrics": {**progress.metrics},
        "escalation_triggered": is_escalated,
        "escalation_reason": cut(event.failure_reason) if is_escalated else None,
        "timeout_reached": event.stop is StopReason.TIMEOUT,
        "resource_limit_hit": event.stop in (StopReason.RESOURCE_LIMIT, StopReason.BUDGET_LIMIT),
    }
