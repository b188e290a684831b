"""Computes the rows of the derived tables from events; no SQL.

A ``Cursor`` keeps what projecting the next event needs from the session's earlier events, so that
no row has to be read. Texts are shortened; the journal has them in full.
Source: S4, "Step Structure", "Tool Execution", "Database Schema" and "TaskState".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain.calls import Effect, ErrorKind
from agent_ls.domain.confidence import judgement_in
from agent_ls.domain.plain_json import parse_arguments
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.loop.evidence.progress import Progress
from agent_ls.store.validation import validations_in

Table = Literal["sessions", "executions", "steps"]
Values = dict[str, JsonValue]

_TEXT_CHARACTERS = 4_000
_SUMMARY_CHARACTERS = 500
_TITLE_CHARACTERS = 80
_KEPT = 5
_CONFIDENCE = "confidence"


class TurnTally(BaseModel):
    """Totals of a turn, stored as a snapshot when it ends."""

    model_config = ConfigDict(extra="ignore")

    goal: str = ""
    acceptance_criteria: list[str] = Field(default_factory=list[str])
    constraints: list[str] = Field(default_factory=list[str])
    current_step: int = 0
    failure_count: int = 0
    consecutive_failures: int = 0
    last_errors: list[str] = Field(default_factory=list[str])
    llm_calls: int = 0
    tool_executions: int = 0
    total_tokens: int = 0
    total_cost_usd: float = 0.0
    decision_reasoning: list[str] = Field(default_factory=list[str])
    last_confidence_check_step: int = 0
    last_confidence_score: float | None = None


class Cursor(BaseModel):
    """The projection's state between two events of a session; stored in the session's row."""

    model_config = ConfigDict(extra="ignore")

    turns: int = 0
    is_named: bool = False
    """The user has given the session a title."""
    execution_id: str = ""
    step_id: str = ""
    step_started_ms: int = 0
    results: list[Values] = Field(default_factory=list[Values])
    """Results of the current step's calls so far."""
    validation: list[Values] = Field(default_factory=list[Values])
    """What was found about the worth of the current step so far."""
    commands: dict[str, str] = Field(default_factory=dict[str, str])
    """By call without a result: the command that it runs."""
    files: list[str] = Field(default_factory=list[str])
    """Files changed in the current turn, without duplicates."""
    plan: list[Values] = Field(default_factory=list[Values])
    agent: str = ""
    """The kind of sub-agent; empty for a user's session."""
    project: str = ""
    """The session's roots, as one text."""
    turn: TurnTally = Field(default_factory=TurnTally)
    progress: Progress = Progress()

    def between_turns(self) -> Cursor:
        """Return the cursor for the next turn, with only what outlives a turn."""
        kept = ("agent", "project", "turns", "is_named", "plan", "progress")
        return Cursor(**{name: getattr(self, name) for name in kept})


@dataclass(slots=True)
class Row:
    """A row to insert or update: columns to set, and columns to add to."""

    values: Values = field(default_factory=dict[str, JsonValue])
    added: dict[str, int | float] = field(default_factory=dict[str, "int | float"])


class Projection:
    """Collects the row changes of one session's events, so that each row is written once."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        # The session's row comes first: the others refer to it.
        self.rows: dict[tuple[Table, str], Row] = {("sessions", ""): Row()}
        """Keyed by table and id; the session's own row has an empty id."""
        self._at_ms = 0

    def take(self, stored: ev.StoredEvent) -> None:  # noqa: C901 - one arm for each kind of event
        """Collect the row changes of one event; most events have none."""
        self._at_ms = stored.at_ms
        self.cursor.progress = self.cursor.progress.after(stored.event)
        match stored.event:
            case ev.SessionCreated() as event:
                self._session_created(event)
            case ev.SessionRenamed(title=title):
                self._session(title=cut(title, _TITLE_CHARACTERS))
                self.cursor.is_named = True
            case ev.SessionArchived(is_archived=is_archived):
                self._session(is_archived=is_archived)
            case ev.ModeChanged(mode=mode):
                self._session(mode=mode.value)
            case ev.ModelChanged(model=model):
                self._session(model=model)
            case ev.TurnStarted() as event:
                self._turn_started(event)
            case ev.TurnEnded() as event:
                self._turn_ended(event)
            case ev.RequestPrepared() as event:
                self._request_prepared(event)
            case ev.AttemptFinished() as event:
                self._attempt_finished(event)
            case ev.AdviceGiven() as event:
                self._advice_given(event)
            case ev.ChildEnded(usage=usage):
                self._spent(usage)
            case ev.Answered() as event:
                self._answered(event)
            case ev.ToolCallStarted() as event:
                self._call_started(event)
            case ev.EditApplied(status="applied", path=path):
                if path not in self.cursor.files:
                    self.cursor.files.append(path)
            case ev.ToolCallFinished() as event:
                self._call_finished(event)
            case ev.ApprovalRequested() | ev.QuestionAsked():
                self._status(TurnStatus.WAITING)
            case ev.ApprovalResolved() | ev.QuestionResolved():
                self._status(TurnStatus.RUNNING)
            case ev.PlanUpdated(items=items):
                self.cursor.plan = [item.model_dump(mode="json") for item in items]
            case _:
                pass
        self._validated(stored.event)

    def _row(self, table: Table, row: str) -> Row:
        return self.rows.setdefault((table, row), Row())

    def _set(self, table: Table, row: str, **values: JsonValue) -> None:
        self._row(table, row).values.update(values)

    def _add(self, table: Table, row: str, **amounts: float) -> None:
        added = self._row(table, row).added
        for name, amount in amounts.items():
            added[name] = added.get(name, 0) + amount

    def _session(self, **values: JsonValue) -> None:
        self._set("sessions", "", **values)

    def _execution(self, **values: JsonValue) -> None:
        """Set columns of the running turn; does nothing between turns."""
        if self.cursor.execution_id:
            self._set("executions", self.cursor.execution_id, **values)

    def _step(self, step_id: str, **values: JsonValue) -> None:
        """Set columns of a step, and the turn's acceptance progress."""
        progress = self.cursor.progress
        values = {"acceptance_progress": progress.score, "progress_by": progress.by, **values}
        self._set("steps", step_id, **values)

    def _step_ms(self) -> int:
        return max(0, self._at_ms - self.cursor.step_started_ms)

    def _session_created(self, event: ev.SessionCreated) -> None:
        self.cursor.agent, self.cursor.project = event.agent, roots_key(event.roots)
        self._session(
            roots=roots_key(event.roots),
            mode=event.mode.value,
            model=event.model,
            parent_id=event.parent_id,
            agent=event.agent,
            forked_from=event.forked_from,
            is_dry_run=event.dry_run,
            user_name=event.user,
            created_ms=self._at_ms,
        )

    def _turn_started(self, event: ev.TurnStarted) -> None:
        goal = event.goal
        if self.cursor.turns == 0 and not self.cursor.is_named:
            # What follows the first paragraph may be ours, such as where a comment stands.
            words = event.prompt.strip().partition("\n\n")[0]
            self._session(title=cut(" ".join(words.split()), _TITLE_CHARACTERS))
        cursor = self.cursor = self.cursor.between_turns()
        cursor.turns += 1
        cursor.execution_id = event.turn_id
        cursor.turn = TurnTally(
            goal=cut(goal.text if goal else event.prompt, _SUMMARY_CHARACTERS),
            acceptance_criteria=[one.text for one in goal.acceptance] if goal else [],
            constraints=list(goal.constraints) if goal else [],
        )
        running = TurnStatus.RUNNING.value
        self._session(status=running, is_archived=False)
        self._add("sessions", "", turns=1)
        self._execution(
            task=cut(event.prompt),
            status=running,
            started_ms=self._at_ms,
            agent=cursor.agent,
            project=cursor.project,
        )

    def _turn_ended(self, event: ev.TurnEnded) -> None:
        is_escalated = event.status is TurnStatus.ESCALATED
        reason = cut(event.failure_reason)
        self._set(
            "executions",
            event.turn_id,
            completed_ms=self._at_ms,
            status=event.status.value,
            stop_reason=event.stop.value,
            failure_reason=reason,
            escalation_reason=reason if is_escalated else "",
            state_snapshot=_snapshot(self.cursor, event),
        )
        self._session(status=event.status.value)
        self.cursor = self.cursor.between_turns()

    def _request_prepared(self, event: ev.RequestPrepared) -> None:
        cursor = self.cursor
        cursor.turn.current_step = event.number
        if cursor.step_id == event.step_id:
            return  # Another request in the same step.
        self._begin_step(event.step_id, event.number)
        self._execution(total_steps=event.number)

    def _begin_step(self, step_id: str, number: int) -> None:
        cursor = self.cursor
        cursor.step_id, cursor.step_started_ms = step_id, self._at_ms
        cursor.results, cursor.validation = [], []
        self._set(
            "steps",
            step_id,
            execution_id=cursor.execution_id,
            step_number=number,
            at_ms=self._at_ms,
            validation=[],
        )

    def _attempt_finished(self, event: ev.AttemptFinished) -> None:
        self.cursor.turn.llm_calls += 1
        finish = event.finish.value if event.finish else None
        self._step(
            event.step_id, model=event.model, finish_reason=finish, duration_ms=self._step_ms()
        )
        if event.failure:
            words = cut(f"{event.failure}: {event.message}")
            self._set("steps", event.step_id, success=False, error=words)
        tokens = event.usage.total_tokens
        self._add(
            "steps", event.step_id, attempts=1, tokens_used=tokens, **event.usage.model_dump()
        )
        self._spent(event.usage)

    def _advice_given(self, event: ev.AdviceGiven) -> None:
        """Count a side model's usage; it is not an attempt of a step."""
        turn = self.cursor.turn
        turn.llm_calls += 1
        if event.origin == _CONFIDENCE:
            turn.last_confidence_check_step = turn.current_step
            turn.last_confidence_score = judgement_in(event.text).score
        self._spent(event.usage)

    def _spent(self, usage: Usage) -> None:
        cursor, spent = self.cursor, usage.model_dump()
        cursor.turn.total_tokens += usage.total_tokens
        cursor.turn.total_cost_usd += usage.cost_usd
        self._add("sessions", "", **spent)
        if cursor.execution_id:
            self._add("executions", cursor.execution_id, total_tokens=usage.total_tokens, **spent)

    def _answered(self, event: ev.Answered) -> None:
        cursor, message = self.cursor, event.message
        if event.origin == "command":
            # A custom command's own calls come before the first request.
            self._begin_step(event.step_id, 0)
        reason = message.reasoning or (message.text if message.calls else "")
        if reason:
            kept = [*cursor.turn.decision_reasoning, cut(reason, _SUMMARY_CHARACTERS)]
            cursor.turn.decision_reasoning = kept[-_KEPT:]
        planned: list[JsonValue] = [
            {"call_id": call.id, "tool": call.tool, "arguments": cut(call.arguments_json)}
            for call in message.calls
        ]
        self._step(
            event.step_id,
            reasoning=cut(reason),
            action={"text": cut(message.text), "calls": planned},
            success=not any(result["error"] for result in cursor.results),
            error=_first_error(cursor),
            duration_ms=self._step_ms(),
        )
        if cursor.execution_id:
            self._add("executions", cursor.execution_id, total_calls=len(message.calls))

    def _validated(self, event: ev.Event) -> None:
        """Add what an event says about the worth of the current step."""
        cursor, command = self.cursor, ""
        if isinstance(event, ev.ToolCallFinished):
            command = cursor.commands.pop(event.result.call_id, "")
        if not cursor.step_id:
            return
        if found := list(validations_in(event, command)):
            cursor.validation += found
            self._step(cursor.step_id, validation=[*cursor.validation])

    def _call_started(self, event: ev.ToolCallStarted) -> None:
        command = parse_arguments(event.arguments_json).get("command")
        if event.effect is Effect.EXECUTE and isinstance(command, str):
            self.cursor.commands[event.call_id] = cut(command, _SUMMARY_CHARACTERS)

    def _call_finished(self, event: ev.ToolCallFinished) -> None:
        cursor, result = self.cursor, event.result
        error, text = result.error, cut(result.text, _SUMMARY_CHARACTERS)
        word = error.value if error else None
        if not result.not_run:
            self._count_result(error, f"{word}: {text}")
        cursor.results.append({"call_id": result.call_id, "error": word, "text": text})
        if cursor.step_id:
            results: list[JsonValue] = [*cursor.results]
            self._step(cursor.step_id, result=results, duration_ms=self._step_ms())
            if error:
                self._set("steps", cursor.step_id, success=False, error=_first_error(cursor))

    def _count_result(self, error: ErrorKind | None, words: str) -> None:
        turn = self.cursor.turn
        turn.tool_executions += 1
        if error is None or error is ErrorKind.CANCELLED:
            turn.consecutive_failures = 0
            return
        turn.failure_count += 1
        turn.consecutive_failures += 1
        turn.last_errors = [*turn.last_errors, words][-_KEPT:]

    def _status(self, status: TurnStatus) -> None:
        if self.cursor.execution_id:
            self._execution(status=status.value)
            self._session(status=status.value)


def _snapshot(cursor: Cursor, event: ev.TurnEnded) -> Values:
    is_escalated = event.status is TurnStatus.ESCALATED
    progress = cursor.progress
    return {
        **cursor.turn.model_dump(mode="json"),
        "output": cut(event.output),
        "open_tasks": list(event.open_tasks),
        "plan": [*cursor.plan],
        "files": [*cursor.files],
        "last_step_id": cursor.step_id,
        "progress_score": progress.score,
        "progress_by": progress.by,
        "progress_metrics": {**progress.metrics},
        "escalation_triggered": is_escalated,
        "escalation_reason": cut(event.failure_reason) if is_escalated else None,
        "timeout_reached": event.stop is StopReason.TIMEOUT,
        "resource_limit_hit": event.stop in (StopReason.RESOURCE_LIMIT, StopReason.BUDGET_LIMIT),
    }


def _first_error(cursor: Cursor) -> str:
    """Return the current step's first error; empty if none."""
    failed = (one for one in cursor.results if one["error"])
    return next((f"{one['error']}: {one['text']}" for one in failed), "")


def roots_key(roots: Sequence[str]) -> str:
    """Return a text that is equal for the same roots in any order."""
    return json.dumps(sorted(roots), ensure_ascii=False, separators=(",", ":"))


def cut(text: str, limit: int = _TEXT_CHARACTERS) -> str:
    """Shorten a text for a row; the journal has it in full."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
