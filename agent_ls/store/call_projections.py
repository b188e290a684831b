"""What the events of calls, and of people's answers to them, change in the derived tables."""

from __future__ import annotations

from pydantic import JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.stops import TurnStatus
from agent_ls.store.changes import (
    SUMMARY_CHARACTERS,
    Change,
    Cursor,
    Projected,
    Write,
    cut,
    of_turn,
)


def call_decided(cursor: Cursor, event: ev.CallDecided) -> Change:
    """Write the audit's verdict; denied calls have it too."""
    values: dict[str, JsonValue] = {
        **_place(cursor),
        "decision": event.decision,
        "decided_by": event.origin,
        "reason": cut(event.reason),
    }
    if event.effect is not None:
        values["effect"] = event.effect.value
    return Write("calls", event.call_id, values)


def call_started(cursor: Cursor, event: ev.ToolCallStarted, at_ms: int) -> Change:
    """Mark the call as running, with what it really runs on."""
    values: dict[str, JsonValue] = {
        **_place(cursor),
        "tool": event.tool,
        "effect": event.effect.value,
        "paths": list(event.paths),
        "status": "in_progress",
        "started_ms": at_ms,
    }
    if event.arguments_json:
        values["arguments"] = cut(event.arguments_json)
    return Write("calls", event.call_id, values)


def edit_applied(cursor: Cursor, event: ev.EditApplied) -> Projected:
    """Count the lines, and remember the file for the turn."""
    if event.status != "applied":
        return cursor, ()
    lines = {"added_lines": event.added_lines, "removed_lines": event.removed_lines}
    files = cursor.files if event.path in cursor.files else (*cursor.files, event.path)
    return cursor.model_copy(update={"files": files}), (
        Write("calls", event.call_id, _place(cursor), lines),
    )


def call_finished(cursor: Cursor, event: ev.ToolCallFinished, at_ms: int) -> Projected:
    """Write the outcome to the call and to its step."""
    result = event.result
    error = result.error.value if result.error else None
    call: dict[str, JsonValue] = {
        **_place(cursor),
        "status": "failed" if error else "completed",
        "error": error,
        "result": cut(result.text, SUMMARY_CHARACTERS),
        "output_id": result.output_id,
        "finished_ms": at_ms,
        "duration_ms": result.duration_ms,
    }
    summary: dict[str, JsonValue] = {
        "call_id": result.call_id,
        "error": error,
        "text": cut(result.text, SUMMARY_CHARACTERS),
    }
    after = cursor.model_copy(update={"results": (*cursor.results, summary)})
    changes: list[Change] = [Write("calls", result.call_id, call)]
    if cursor.step_id:
        step: dict[str, JsonValue] = {
            "acceptance_progress": cursor.progress.score,
            "progress_by": cursor.progress.by,
            "result": list(after.results),
            "duration_ms": max(0, at_ms - cursor.step_started_ms),
        }
        if error:
            step |= {"success": False, "error": first_error(after)}
        changes.append(Write("steps", cursor.step_id, step))
    return after, tuple(changes)


def approval_requested(
    cursor: Cursor, event: ev.ApprovalRequested, at_ms: int
) -> tuple[Change, ...]:
    """Write the question down, and show the turn as waiting."""
    request = event.request
    values: dict[str, JsonValue] = {
        "execution_id": request.turn_id,
        "kind": "call",
        "call_id": request.call_id,
        "asked_by": request.tool,
        "title": cut(request.preview.title),
        "reason": cut(request.reason),
        "payload": cut(request.preview.payload),
        "digest": request.digest,
        "requested_ms": at_ms,
    }
    return (Write("approvals", request.id, values), *_status(cursor, TurnStatus.WAITING))


def approval_resolved(cursor: Cursor, event: ev.ApprovalResolved, at_ms: int) -> tuple[Change, ...]:
    """Write the answer down, and show the turn as going on."""
    values: dict[str, JsonValue] = {
        "choice": event.answer.choice.value,
        "note": cut(event.answer.note),
        "answered_by": event.answer.by,
        "rule": event.grant,
        "resolved_ms": at_ms,
    }
    return (Write("approvals", event.approval_id, values), *_status(cursor, TurnStatus.RUNNING))


def question_asked(cursor: Cursor, event: ev.QuestionAsked, at_ms: int) -> tuple[Change, ...]:
    """Write an escalation or the model's own question down, as approvals are."""
    question = event.question
    values: dict[str, JsonValue] = {
        "execution_id": question.turn_id,
        "kind": "question",
        "asked_by": question.origin,
        "title": cut(question.text),
        "requested_ms": at_ms,
    }
    return (Write("approvals", question.id, values), *_status(cursor, TurnStatus.WAITING))


def question_resolved(cursor: Cursor, event: ev.QuestionResolved, at_ms: int) -> tuple[Change, ...]:
    """Write the answer down, and show the turn as going on."""
    values: dict[str, JsonValue] = {
        "choice": cut(event.answer.text),
        "answered_by": event.answer.by,
        "resolved_ms": at_ms,
    }
    return (Write("approvals", event.question_id, values), *_status(cursor, TurnStatus.RUNNING))


def _status(cursor: Cursor, status: TurnStatus) -> tuple[Change, ...]:
    """Say that the running turn waits, or goes on; nothing once it ended."""
    values: dict[str, JsonValue] = {"status": status.value}
    execution = Write("executions", cursor.execution_id, values)
    return of_turn(cursor, execution, Write("sessions", "", values))


def _place(cursor: Cursor) -> dict[str, JsonValue]:
    """Return what ties a call to its turn and step, where both are known."""
    if not cursor.execution_id:
        return {**cursor.owner}
    return {**cursor.owner, "execution_id": cursor.execution_id, "step_id": cursor.step_id}


def first_error(cursor: Cursor) -> str:
    """Return what went wrong first in the current step; empty when nothing did."""
    for result in cursor.results:
        if result["error"]:
            return f"{result['error']}: {result['text']}"
    return ""
