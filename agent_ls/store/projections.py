"""What an event changes in the derived tables: pure functions, no SQL.

A ``Cursor`` carries what the next event needs to know of the earlier ones of its session, so
that no row is ever read to project an event. Texts are cut: the whole ones are in the journal.
Source: seed 004, "Step Structure", "Tool Execution" and "Database Schema".
"""

from __future__ import annotations

import json
from typing import assert_never

from pydantic import JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.stops import TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.store import call_projections as of_calls
from agent_ls.store.changes import AbandonCalls, Change, Cursor, Projected, Write, cut, of_turn
from agent_ls.store.snapshots import snapshot, tallied

_TITLE_CHARACTERS = 80


def project(cursor: Cursor, stored: ev.StoredEvent) -> Projected:  # noqa: C901 - one arm a kind
    """Return the cursor after the event, and the changes it makes."""
    at_ms = stored.at_ms
    cursor = tallied(cursor, stored.event)
    match stored.event:
        case ev.SessionCreated() as event:
            owner = {"agent": event.agent, "project": roots_key(event.roots)}
            return cursor.model_copy(update=owner), (_session_created(event, at_ms),)
        case ev.ModeChanged(mode=mode):
            return cursor, (Write("sessions", "", {"mode": mode.value}),)
        case ev.ModelChanged(model=model):
            return cursor, (Write("sessions", "", {"model": model}),)
        case ev.TurnStarted() as event:
            return _turn_started(cursor, event, at_ms)
        case ev.TurnEnded() as event:
            return _turn_ended(cursor, event, at_ms)
        case ev.RequestPrepared() as event:
            return _request_prepared(cursor, event, at_ms)
        case ev.AttemptFinished() as event:
            return _attempt_finished(cursor, event, at_ms)
        case ev.AdviceGiven(usage=usage) | ev.ChildEnded(usage=usage):
            return _advice_given(cursor, usage)
        case ev.Answered() as event:
            return _answered(cursor, event, at_ms)
        case ev.RecoveryChosen() as event:
            return _recovery_chosen(cursor, event)
        case ev.GateFailed(origin=origin, text=text):
            return _validated(cursor, {"gate": origin, "passed": False, "text": cut(text)})
        case ev.GoalChecked(origin=origin, proofs=proofs):
            met = [one.of for one in proofs if one.is_met]
            failed = [one.of for one in proofs if not one.is_met]
            return _validated(cursor, {"goal": origin, "met": [*met], "failed": [*failed]})
        case ev.FindingsReported() as event:
            return _validated(cursor, _findings(event))
        case ev.CallDecided() as event:
            return cursor, (of_calls.call_decided(cursor, event),)
        case ev.ToolCallStarted() as event:
            return cursor, (of_calls.call_started(cursor, event, at_ms),)
        case ev.EditApplied() as event:
            return of_calls.edit_applied(cursor, event)
        case ev.ToolCallFinished() as event:
            return of_calls.call_finished(cursor, event, at_ms)
        case ev.ApprovalRequested() as event:
            return cursor, of_calls.approval_requested(cursor, event, at_ms)
        case ev.ApprovalResolved() as event:
            return cursor, of_calls.approval_resolved(cursor, event, at_ms)
        case ev.QuestionAsked() as event:
            return cursor, of_calls.question_asked(cursor, event, at_ms)
        case ev.QuestionResolved() as event:
            return cursor, of_calls.question_resolved(cursor, event, at_ms)
        case ev.PlanUpdated(items=items):
            plan = tuple(item.model_dump(mode="json") for item in items)
            return cursor.model_copy(update={"plan": plan}), ()
        case (
            ev.SessionResumed()
            | ev.PolicySilenced()
            | ev.PromptQueued()
            | ev.PrefixSet()
            | ev.Moved()
            | ev.AdvisoryRaised()
            | ev.NudgeAdded()
            | ev.GoalCommandStarted()
            | ev.EditIntended()
            | ev.ReviewDecided()
            | ev.ReviewApplied()
            | ev.FileRenamed()
            | ev.OutputStored()
            | ev.PlanProposed()
            | ev.PlanResolved()
            | ev.FinalOutputGiven()
            | ev.GrantsRevoked()
            | ev.EffectSimulated()
            | ev.CommandChanged()
            | ev.CommandChangesLeftOut()
            | ev.HookRan()
            | ev.ChildStarted()
            | ev.Compacted()
            | ev.WrapUpRequested()
            | ev.MonitorAlerted()
            | ev.CancelRequested()
        ):
            return cursor, ()
        case _ as never:
            assert_never(never)


def roots_key(roots: tuple[str, ...] | list[str]) -> str:
    """Return the text that is equal for equal sets of roots."""
    return json.dumps(sorted(roots), ensure_ascii=False, separators=(",", ":"))


def _session_created(event: ev.SessionCreated, at_ms: int) -> Change:
    return Write(
        "sessions",
        "",
        {
            "roots": roots_key(event.roots),
            "mode": event.mode.value,
            "model": event.model,
            "parent_id": event.parent_id,
            "agent": event.agent,
            "forked_from": event.forked_from,
            "is_dry_run": event.dry_run,
            "created_ms": at_ms,
        },
    )


def _turn_started(cursor: Cursor, event: ev.TurnStarted, at_ms: int) -> Projected:
    session: dict[str, JsonValue] = {"status": TurnStatus.RUNNING.value}
    if cursor.turns == 0:
        session["title"] = _title(event.prompt)
    execution: dict[str, JsonValue] = {
        "task": cut(event.prompt),
        "status": TurnStatus.RUNNING.value,
        "started_ms": at_ms,
        **cursor.owner,
    }
    after = _between_turns(cursor).model_copy(
        update={"turns": cursor.turns + 1, "execution_id": event.turn_id, "turn": cursor.turn}
    )
    return after, (
        Write("sessions", "", session, {"turns": 1}),
        Write("executions", event.turn_id, execution),
    )


def _turn_ended(cursor: Cursor, event: ev.TurnEnded, at_ms: int) -> Projected:
    is_escalated = event.status is TurnStatus.ESCALATED
    execution: dict[str, JsonValue] = {
        "completed_ms": at_ms,
        "status": event.status.value,
        "stop_reason": event.stop.value,
        "failure_reason": cut(event.failure_reason),
        "escalation_reason": cut(event.failure_reason) if is_escalated else "",
        "state_snapshot": snapshot(cursor, event),
    }
    after = _between_turns(cursor)
    return after, (
        Write("executions", event.turn_id, execution),
        Write("sessions", "", {"status": event.status.value}),
        AbandonCalls(event.turn_id, at_ms),
    )


def _between_turns(cursor: Cursor) -> Cursor:
    """Return what is kept from one turn to the next."""
    kept = {name: getattr(cursor, name) for name in ("agent", "project", "turns", "plan")}
    return Cursor(**kept, progress=cursor.progress)


def _request_prepared(cursor: Cursor, event: ev.RequestPrepared, at_ms: int) -> Projected:
    if cursor.step_id == event.step_id:
        return cursor, ()  # The same step asks once more.
    after = cursor.model_copy(
        update={
            "step_id": event.step_id,
            "step_started_ms": at_ms,
            "results": (),
            "validation": (),
        }
    )
    step: dict[str, JsonValue] = {
        "execution_id": cursor.execution_id,
        "step_number": event.number,
        "at_ms": at_ms,
    }
    execution = Write("executions", cursor.execution_id, {"total_steps": event.number})
    return after, (Write("steps", event.step_id, step), *of_turn(cursor, execution))


def _attempt_finished(cursor: Cursor, event: ev.AttemptFinished, at_ms: int) -> Projected:
    spent = _spent(event.usage)
    tokens = event.usage.total_tokens
    step: dict[str, JsonValue] = {
        **_progressed(cursor),
        "model": event.model,
        "finish_reason": event.finish.value if event.finish else None,
        "duration_ms": max(0, at_ms - cursor.step_started_ms),
    }
    if event.failure:
        step |= {"success": False, "error": cut(f"{event.failure}: {event.message}")}
    execution = Write("executions", cursor.execution_id, add={**spent, "total_tokens": tokens})
    return cursor, (
        Write("steps", event.step_id, step, {"attempts": 1, "tokens_used": tokens, **spent}),
        *of_turn(cursor, execution),
        Write("sessions", "", add=spent),
    )


def _advice_given(cursor: Cursor, usage: Usage) -> Projected:
    """Count what a side model cost; it is no attempt of a step."""
    spent = _spent(usage)
    all_spent = {**spent, "total_tokens": usage.total_tokens}
    execution = Write("executions", cursor.execution_id, add=all_spent)
    return cursor, (*of_turn(cursor, execution), Write("sessions", "", add=spent))


def _answered(cursor: Cursor, event: ev.Answered, at_ms: int) -> Projected:
    message = event.message
    planned: list[JsonValue] = [
        {"call_id": call.id, "tool": call.tool, "arguments": cut(call.arguments_json)}
        for call in message.calls
    ]
    step: dict[str, JsonValue] = {
        **_progressed(cursor),
        "reasoning": cut(message.reasoning or (message.text if message.calls else "")),
        "action": {"text": cut(message.text), "calls": planned},
        "success": not any(result["error"] for result in cursor.results),
        "error": of_calls.first_error(cursor),
        "duration_ms": max(0, at_ms - cursor.step_started_ms),
    }
    calls = tuple(
        Write(
            "calls",
            call.id,
            {
                **cursor.owner,
                "execution_id": cursor.execution_id,
                "step_id": event.step_id,
                "tool": call.tool,
                "arguments": cut(call.arguments_json),
            },
        )
        for call in message.calls
    )
    execution = Write("executions", cursor.execution_id, add={"total_calls": len(calls)})
    return cursor, (Write("steps", event.step_id, step), *calls, *of_turn(cursor, execution))


def _recovery_chosen(cursor: Cursor, event: ev.RecoveryChosen) -> Projected:
    return _validated(
        cursor, {"recovery": event.origin, "action": event.action, "text": cut(event.text)}
    )


def _findings(event: ev.FindingsReported) -> dict[str, JsonValue]:
    found: list[JsonValue] = [
        f"{item.path}:{item.start_line + 1}: {item.checker} {item.code} {item.message}"
        for item in event.findings[:20]
    ]
    return {
        "checked": list(event.paths),
        "count": len(event.findings),
        "findings": found,
        "problems": list(event.problems),
        "unanswered": list(event.unanswered),
    }


def _validated(cursor: Cursor, item: dict[str, JsonValue]) -> Projected:
    """Add one item to what was said of the current step."""
    if not cursor.step_id:
        return cursor, ()
    validation = (*cursor.validation, item)
    after = cursor.model_copy(update={"validation": validation})
    step: dict[str, JsonValue] = {"validation": list(validation), **_progressed(after)}
    return after, (Write("steps", cursor.step_id, step),)


def _progressed(cursor: Cursor) -> dict[str, JsonValue]:
    """Return how near acceptance the turn is now."""
    return {"acceptance_progress": cursor.progress.score, "progress_by": cursor.progress.by}


def _spent(usage: Usage) -> dict[str, int | float]:
    return usage.model_dump()


def _title(prompt: str) -> str:
    words = " ".join(prompt.split())
    return words if len(words) <= _TITLE_CHARACTERS else f"{words[: _TITLE_CHARACTERS - 1]}…"
