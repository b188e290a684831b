"""What an event changes in the derived tables: pure functions, no SQL.

A ``Cursor`` carries what the next event needs to know of the earlier ones of its session, so
that no row is ever read to project an event. Texts are cut: the whole ones are in the journal.
Source: seed 004, "Step Structure", "Tool Execution" and "Database Schema".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

from pydantic import BaseModel, ConfigDict, JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.stops import TurnStatus
from agent_ls.domain.usage import Usage

Table = Literal["sessions", "executions", "steps", "calls", "approvals"]

_TITLE_CHARACTERS = 80
_TEXT_CHARACTERS = 4_000
_SUMMARY_CHARACTERS = 500


class Cursor(BaseModel):
    """Where a session stands; stored with its row."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    turns: int = 0
    execution_id: str = ""
    step_id: str = ""
    step_started_ms: int = 0
    results: tuple[dict[str, JsonValue], ...] = ()
    """Of the current step's calls so far."""
    validation: tuple[dict[str, JsonValue], ...] = ()
    """What gates and checkers said of the current step so far."""
    files: tuple[str, ...] = ()
    """Changed in the current turn, each once."""
    plan: tuple[dict[str, JsonValue], ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """Set some columns of one row, and add to others; the row comes to be when it is not there."""

    table: Table
    row: str
    """Its id within the session; empty for the session's own row."""
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    add: Mapping[str, int | float] = field(default_factory=dict[str, "int | float"])


@dataclass(frozen=True, slots=True)
class AbandonCalls:
    """Mark the calls of an execution that never got a result."""

    execution_id: str
    at_ms: int


Change = Write | AbandonCalls
_Projected = tuple[Cursor, tuple[Change, ...]]


def project(cursor: Cursor, stored: ev.StoredEvent) -> _Projected:  # noqa: C901 - one arm a kind
    """Return the cursor after the event, and the changes it makes."""
    at_ms = stored.at_ms
    match stored.event:
        case ev.SessionCreated() as event:
            return cursor, (_session_created(event, at_ms),)
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
        case ev.Answered() as event:
            return _answered(cursor, event, at_ms)
        case ev.RecoveryChosen() as event:
            return _recovery_chosen(cursor, event)
        case ev.GateFailed(origin=origin, text=text):
            return _validated(cursor, {"gate": origin, "passed": False, "text": _cut(text)})
        case ev.FindingsReported() as event:
            return _validated(cursor, _findings(event))
        case ev.CallDecided() as event:
            return cursor, (_call_decided(cursor, event),)
        case ev.ToolCallStarted() as event:
            return cursor, (_call_started(cursor, event, at_ms),)
        case ev.EditApplied() as event:
            return _edit_applied(cursor, event)
        case ev.ToolCallFinished() as event:
            return _call_finished(cursor, event, at_ms)
        case ev.ApprovalRequested() as event:
            return cursor, _approval_requested(cursor, event, at_ms)
        case ev.ApprovalResolved() as event:
            return cursor, _approval_resolved(cursor, event, at_ms)
        case ev.QuestionAsked() as event:
            return cursor, _question_asked(cursor, event, at_ms)
        case ev.QuestionResolved() as event:
            return cursor, _question_resolved(cursor, event, at_ms)
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
            | ev.EditIntended()
            | ev.Compacted()
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
            "created_ms": at_ms,
        },
    )


def _turn_started(cursor: Cursor, event: ev.TurnStarted, at_ms: int) -> _Projected:
    session: dict[str, JsonValue] = {"status": TurnStatus.RUNNING.value}
    if cursor.turns == 0:
        session["title"] = _title(event.prompt)
    execution: dict[str, JsonValue] = {
        "task": _cut(event.prompt),
        "status": TurnStatus.RUNNING.value,
        "started_ms": at_ms,
    }
    after = Cursor(turns=cursor.turns + 1, execution_id=event.turn_id, plan=cursor.plan)
    return after, (
        Write("sessions", "", session, {"turns": 1}),
        Write("executions", event.turn_id, execution),
    )


def _turn_ended(cursor: Cursor, event: ev.TurnEnded, at_ms: int) -> _Projected:
    is_escalated = event.status is TurnStatus.ESCALATED
    execution: dict[str, JsonValue] = {
        "completed_ms": at_ms,
        "status": event.status.value,
        "stop_reason": event.stop.value,
        "failure_reason": _cut(event.failure_reason),
        "escalation_reason": _cut(event.failure_reason) if is_escalated else "",
        "state_snapshot": {
            "output": _cut(event.output),
            "open_tasks": list(event.open_tasks),
            "plan": list(cursor.plan),
            "files": list(cursor.files),
            "last_step_id": cursor.step_id,
        },
    }
    after = Cursor(turns=cursor.turns, plan=cursor.plan)
    return after, (
        Write("executions", event.turn_id, execution),
        Write("sessions", "", {"status": event.status.value}),
        AbandonCalls(event.turn_id, at_ms),
    )


def _request_prepared(cursor: Cursor, event: ev.RequestPrepared, at_ms: int) -> _Projected:
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
    return after, (Write("steps", event.step_id, step), *_of_turn(cursor, execution))


def _attempt_finished(cursor: Cursor, event: ev.AttemptFinished, at_ms: int) -> _Projected:
    spent = _spent(event.usage)
    step: dict[str, JsonValue] = {
        "model": event.model,
        "finish_reason": event.finish.value if event.finish else None,
        "duration_ms": max(0, at_ms - cursor.step_started_ms),
    }
    if event.failure:
        step |= {"success": False, "error": _cut(f"{event.failure}: {event.message}")}
    execution = Write("executions", cursor.execution_id, add=spent)
    return cursor, (
        Write("steps", event.step_id, step, {"attempts": 1, **spent}),
        *_of_turn(cursor, execution),
        Write("sessions", "", add=spent),
    )


def _answered(cursor: Cursor, event: ev.Answered, at_ms: int) -> _Projected:
    message = event.message
    planned: list[JsonValue] = [
        {"call_id": call.id, "tool": call.tool, "arguments": _cut(call.arguments_json)}
        for call in message.calls
    ]
    step: dict[str, JsonValue] = {
        "reasoning": _cut(message.reasoning or (message.text if message.calls else "")),
        "action": {"text": _cut(message.text), "calls": planned},
        "success": not any(result["error"] for result in cursor.results),
        "error": _first_error(cursor),
        "duration_ms": max(0, at_ms - cursor.step_started_ms),
    }
    calls = tuple(
        Write(
            "calls",
            call.id,
            {
                "execution_id": cursor.execution_id,
                "step_id": event.step_id,
                "tool": call.tool,
                "arguments": _cut(call.arguments_json),
            },
        )
        for call in message.calls
    )
    execution = Write("executions", cursor.execution_id, add={"total_calls": len(calls)})
    return cursor, (Write("steps", event.step_id, step), *calls, *_of_turn(cursor, execution))


def _recovery_chosen(cursor: Cursor, event: ev.RecoveryChosen) -> _Projected:
    return _validated(
        cursor, {"recovery": event.origin, "action": event.action, "text": _cut(event.text)}
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
    }


def _validated(cursor: Cursor, item: dict[str, JsonValue]) -> _Projected:
    """Add one item to what was said of the current step."""
    if not cursor.step_id:
        return cursor, ()
    validation = (*cursor.validation, item)
    after = cursor.model_copy(update={"validation": validation})
    return after, (Write("steps", cursor.step_id, {"validation": list(validation)}),)


def _call_decided(cursor: Cursor, event: ev.CallDecided) -> Change:
    values: dict[str, JsonValue] = {
        **_place(cursor),
        "decision": event.decision,
        "decided_by": event.origin,
        "reason": _cut(event.reason),
    }
    return Write("calls", event.call_id, values)


def _call_started(cursor: Cursor, event: ev.ToolCallStarted, at_ms: int) -> Change:
    values: dict[str, JsonValue] = {
        **_place(cursor),
        "tool": event.tool,
        "effect": event.effect.value,
        "paths": list(event.paths),
        "status": "in_progress",
        "started_ms": at_ms,
    }
    if event.arguments_json:
        values["arguments"] = _cut(event.arguments_json)
    return Write("calls", event.call_id, values)


def _edit_applied(cursor: Cursor, event: ev.EditApplied) -> _Projected:
    if event.status != "applied":
        return cursor, ()
    lines = {"added_lines": event.added_lines, "removed_lines": event.removed_lines}
    files = cursor.files if event.path in cursor.files else (*cursor.files, event.path)
    return cursor.model_copy(update={"files": files}), (
        Write("calls", event.call_id, _place(cursor), lines),
    )


def _call_finished(cursor: Cursor, event: ev.ToolCallFinished, at_ms: int) -> _Projected:
    result = event.result
    error = result.error.value if result.error else None
    call: dict[str, JsonValue] = {
        **_place(cursor),
        "status": "failed" if error else "completed",
        "error": error,
        "result": _cut(result.text, _SUMMARY_CHARACTERS),
        "output_id": result.output_id,
        "finished_ms": at_ms,
        "duration_ms": result.duration_ms,
    }
    summary: dict[str, JsonValue] = {
        "call_id": result.call_id,
        "error": error,
        "text": _cut(result.text, _SUMMARY_CHARACTERS),
    }
    after = cursor.model_copy(update={"results": (*cursor.results, summary)})
    changes: list[Change] = [Write("calls", result.call_id, call)]
    if cursor.step_id:
        step: dict[str, JsonValue] = {
            "result": list(after.results),
            "duration_ms": max(0, at_ms - cursor.step_started_ms),
        }
        if error:
            step |= {"success": False, "error": _first_error(after)}
        changes.append(Write("steps", cursor.step_id, step))
    return after, tuple(changes)


def _approval_requested(
    cursor: Cursor, event: ev.ApprovalRequested, at_ms: int
) -> tuple[Change, ...]:
    request = event.request
    values: dict[str, JsonValue] = {
        "execution_id": request.turn_id,
        "kind": "call",
        "call_id": request.call_id,
        "asked_by": request.tool,
        "title": _cut(request.preview.title),
        "reason": _cut(request.reason),
        "payload": _cut(request.preview.payload),
        "digest": request.digest,
        "requested_ms": at_ms,
    }
    return (Write("approvals", request.id, values), *_status(cursor, TurnStatus.WAITING))


def _approval_resolved(
    cursor: Cursor, event: ev.ApprovalResolved, at_ms: int
) -> tuple[Change, ...]:
    values: dict[str, JsonValue] = {
        "choice": event.answer.choice.value,
        "note": _cut(event.answer.note),
        "answered_by": event.answer.by,
        "rule": event.grant,
        "resolved_ms": at_ms,
    }
    return (Write("approvals", event.approval_id, values), *_status(cursor, TurnStatus.RUNNING))


def _question_asked(cursor: Cursor, event: ev.QuestionAsked, at_ms: int) -> tuple[Change, ...]:
    question = event.question
    values: dict[str, JsonValue] = {
        "execution_id": question.turn_id,
        "kind": "question",
        "asked_by": question.origin,
        "title": _cut(question.text),
        "requested_ms": at_ms,
    }
    return (Write("approvals", question.id, values), *_status(cursor, TurnStatus.WAITING))


def _question_resolved(
    cursor: Cursor, event: ev.QuestionResolved, at_ms: int
) -> tuple[Change, ...]:
    values: dict[str, JsonValue] = {
        "choice": _cut(event.answer.text),
        "answered_by": event.answer.by,
        "resolved_ms": at_ms,
    }
    return (Write("approvals", event.question_id, values), *_status(cursor, TurnStatus.RUNNING))


def _status(cursor: Cursor, status: TurnStatus) -> tuple[Change, ...]:
    """Say that the running turn waits, or goes on; nothing once it ended."""
    values: dict[str, JsonValue] = {"status": status.value}
    execution = Write("executions", cursor.execution_id, values)
    return _of_turn(cursor, execution, Write("sessions", "", values))


def _of_turn(cursor: Cursor, *changes: Change) -> tuple[Change, ...]:
    return changes if cursor.execution_id else ()


def _place(cursor: Cursor) -> dict[str, JsonValue]:
    """Return what ties a call to its turn and step, where both are known."""
    if not cursor.execution_id:
        return {}
    return {"execution_id": cursor.execution_id, "step_id": cursor.step_id}


def _first_error(cursor: Cursor) -> str:
    for result in cursor.results:
        if result["error"]:
            return f"{result['error']}: {result['text']}"
    return ""


def _spent(usage: Usage) -> dict[str, int | float]:
    return usage.model_dump()


def _title(prompt: str) -> str:
    words = " ".join(prompt.split())
    return words if len(words) <= _TITLE_CHARACTERS else f"{words[: _TITLE_CHARACTERS - 1]}…"


def _cut(text: str, limit: int = _TEXT_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
