"""Builds a session's trace from its events, live or from a stored journal.

Events that belong to no step, call or wait become notes (``notes.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from agent_ls.domain import events as ev
from agent_ls.domain.hooks import HookPoint
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem
from agent_ls.observers import trace as tr
from agent_ls.observers.notes import note_of


def trace_of(journal: Iterable[ev.StoredEvent]) -> tr.SessionTrace:
    """Return the trace of a stored journal."""
    tracing = Tracing()
    for stored in journal:
        tracing.on_event(stored)
    return tracing.session


class Tracing:
    """Builds the trace of one session; ``session`` is the trace so far."""

    def __init__(self, model: str = "") -> None:
        """``model`` is the session's model, if known."""
        self.session = tr.SessionTrace()
        self.model = model
        """The session's current model."""
        self._plan: tuple[PlanItem, ...] = ()
        self._turn: tr.TurnTrace | None = None
        self._step: tr.StepTrace | None = None
        self._calls: dict[str, tr.CallTrace] = {}
        self._waits: dict[str, tr.WaitTrace] = {}
        self._children: dict[str, tr.SideTrace] = {}
        self._last_call: tr.CallTrace | None = None
        self._hooks: list[tr.HookTrace] = []
        self._step_ended_ms = 0

    def on_event(self, stored: ev.StoredEvent) -> None:  # noqa: C901 - one arm for each kind of event
        """Add one event to the trace."""
        at_ms = stored.at_ms
        match stored.event:
            case ev.SessionCreated() as event:
                self._created(event)
            case ev.TurnStarted() as event:
                self._turn_started(event, at_ms)
            case ev.TurnEnded() as event:
                self._turn_ended(event, at_ms)
            case ev.Moved() as event:
                self._moved(event, at_ms)
            case ev.ModelChanged(model=model) as event:
                self.model = model
                self._note(event, at_ms)
            case ev.PlanUpdated(items=items):
                self._plan = items
                if self._turn is not None:
                    self._turn.plan = items
            case ev.RequestPrepared() as event:
                self._begin_step(event, at_ms)
            case ev.AttemptFinished() as event:
                self._attempt(event, at_ms)
            case ev.RecoveryChosen() as event:
                self._recovered(event)
                self._note(event, at_ms)
            case ev.Answered() as event:
                self._answered(event, at_ms)
            case ev.CallDecided() as event:
                call = self._call(event.call_id)
                call.decision, call.decided_by = event.decision, event.origin
                call.reason = event.reason
            case ev.ToolCallStarted() as event:
                self._started(event, at_ms)
            case ev.EditIntended(edit=edit) as event:
                new_path = edit.new_path if edit.kind == "move" else ""
                trace = tr.EditTrace(edit.path, edit.kind, new_path, event.before_blob)
                self._call(event.call_id).edits.append(trace)
            case ev.EditApplied() as event:
                self._applied(event)
            case ev.CommandChanged() as event:
                self._call(event.call_id).edits.append(_changed(event))
            case ev.ToolCallFinished() as event:
                self._finished(event, at_ms)
            case ev.HookRan() as event:
                self._hooked(event, at_ms)
            case ev.ApprovalRequested(request=request):
                wait = tr.WaitTrace(at_ms, id=request.id, title=request.preview.title)
                wait.reason = request.reason
                wait.asked_by, wait.call_id = request.tool, request.call_id
                self._begin_wait(wait)
            case ev.ApprovalResolved(approval_id=wait_id, answer=answer) as event:
                wait = self._end_wait(wait_id, answer.choice.value, answer.by, at_ms)
                wait.note, wait.grant = answer.note, event.grant or ""
            case ev.QuestionAsked(question=question):
                wait = tr.WaitTrace(at_ms, id=question.id, kind="question", title=question.text)
                wait.asked_by = question.origin
                self._begin_wait(wait)
            case ev.QuestionResolved(question_id=wait_id, answer=answer):
                self._end_wait(wait_id, answer.text, answer.by, at_ms)
            case ev.AdviceGiven() as event:
                side = tr.SideTrace(at_ms - event.duration_ms, at_ms, origin=event.origin)
                side.model, side.text, side.usage = event.model, event.text, event.usage
                side.failure = f"{event.failure}: {event.message}" if event.failure else ""
                self._add(side)
            case ev.ChildStarted() as event:
                side = tr.SideTrace(at_ms, kind="child", origin=event.kind, task=event.task)
                side.call_id, side.session_id = event.call_id, event.child_id
                self._children[event.child_id] = side
                self._add(side)
            case ev.ChildEnded() as event:
                self._child_ended(event, at_ms)
            case ev.FindingsReported() as event:
                self._found(event, at_ms)
            case event:
                self._note(event, at_ms)

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Ignore streamed pieces, which are not stored."""

    def _created(self, event: ev.SessionCreated) -> None:
        self.session.session_id, self.session.roots = event.session_id, event.roots
        self.session.mode, self.session.model = event.mode.value, event.model
        self.session.is_dry_run = event.dry_run
        self.model = self.model or event.model

    def _turn_started(self, event: ev.TurnStarted, at_ms: int) -> None:
        self._end_phase(at_ms)
        turn = tr.TurnTrace(at_ms, turn_id=event.turn_id, prompt=event.prompt)
        turn.plan, turn.model = self._plan, self.model
        self.session.turns.append(turn)
        self._turn, self._step = turn, None
        self._step_ended_ms = at_ms

    def _moved(self, event: ev.Moved, at_ms: int) -> None:
        self._end_phase(at_ms)
        if self._turn is not None and event.to is not Phase.DONE:
            phase = tr.PhaseTrace(at_ms, phase=event.to.value)
            self._turn.phases.append(phase)
        if event.to is Phase.CLOSE:
            self._note(event, at_ms)

    def _turn_ended(self, event: ev.TurnEnded, at_ms: int) -> None:
        self._end_phase(at_ms)
        self._end_step(at_ms)
        turn = self._turn
        if turn is None:
            return
        turn.ended_ms = at_ms
        turn.status, turn.stop = event.status.value, event.stop.value
        turn.output, turn.failure_reason = event.output, event.failure_reason
        turn.open_tasks = event.open_tasks
        self._step = None

    def _end_phase(self, at_ms: int) -> None:
        if self._turn is not None and self._turn.phases:
            last = self._turn.phases[-1]
            last.ended_ms = at_ms if last.ended_ms is None else last.ended_ms

    def _recovered(self, event: ev.RecoveryChosen) -> None:
        if self._step is not None and self._step.attempts:
            attempt = self._step.attempts[-1]
            attempt.recovery = f"{event.origin}: {event.action}"
            attempt.recovery_text, attempt.wait_s = event.text, event.wait_s

    def _answered(self, event: ev.Answered, at_ms: int) -> None:
        step = self._step
        if step is None:
            return
        if event.origin == "model":
            step.text, step.reasoning = event.message.text, event.message.reasoning
            step.is_answered = True
        step.ended_ms = at_ms
        for call in event.message.calls:
            self._call(call.id, call.tool).arguments_json = call.arguments_json

    def _begin_step(self, event: ev.RequestPrepared, at_ms: int) -> None:
        self._end_step(at_ms)
        turn = self._turn
        if turn is None:
            return
        is_first = not turn.steps
        self._step = tr.StepTrace(
            at_ms,
            step_id=event.step_id,
            number=event.number,
            asked_model=self.model,
            input=tr.InputSummary(
                messages=event.messages,
                estimated_tokens=event.estimated_tokens,
                slots=event.slots,
                text_only=event.text_only,
            ),
            gap_ms=max(0, at_ms - (turn.started_ms if is_first else self._step_ended_ms)),
        )
        self._step.hooks, self._hooks = self._hooks, []
        turn.items.append(self._step)

    def _end_step(self, at_ms: int) -> None:
        """Set the step's end: the latest of its results, attempts and answer."""
        step = self._step
        if step is None:
            return
        ends = [call.finished_ms for call in step.calls if call.finished_ms is not None]
        ends += [one.ended_ms for one in step.attempts if one.ended_ms is not None]
        step.ended_ms = max([*ends, step.ended_ms or 0]) or at_ms
        self._step_ended_ms = step.ended_ms

    @property
    def _is_closing(self) -> bool:
        phases = self._turn.phases if self._turn else []
        return bool(phases) and phases[-1].phase == Phase.CLOSE and phases[-1].ended_ms is None

    def _begin_closing(self, event: ev.AttemptFinished, at_ms: int) -> None:
        if self._turn is None or (self._step is not None and self._step.is_closing):
            return
        self._end_step(at_ms)
        number = self._turn.steps[-1].number + 1 if self._turn.steps else 1
        self._step = tr.StepTrace(
            at_ms - event.duration_ms,
            step_id=event.step_id,
            number=number,
            is_closing=True,
            asked_model=self.model,
        )
        self._step.input.text_only = True
        self._turn.items.append(self._step)

    def _attempt(self, event: ev.AttemptFinished, at_ms: int) -> None:
        if self._is_closing:
            self._begin_closing(event, at_ms)
        if self._step is None:
            return
        attempt = tr.AttemptTrace(
            max(self._step.started_ms, at_ms - event.duration_ms),
            at_ms,
            finish=event.finish.value if event.finish else "",
            failure=event.failure or "",
            message=event.message,
            model=event.model,
            usage=event.usage,
        )
        self._step.attempts.append(attempt)

    def _call(self, call_id: str, tool: str = "") -> tr.CallTrace:
        if call_id not in self._calls:
            self._calls[call_id] = tr.CallTrace(call_id, tool)
            if self._step is not None:
                self._step.calls.append(self._calls[call_id])
        return self._calls[call_id]

    def _started(self, event: ev.ToolCallStarted, at_ms: int) -> None:
        call = self._last_call = self._call(event.call_id, event.tool)
        call.tool, call.effect = event.tool, event.effect.value
        call.arguments_json = event.arguments_json or call.arguments_json
        call.run = tr.Span(at_ms)

    def _applied(self, event: ev.EditApplied) -> None:
        edits = [one for one in self._call(event.call_id).edits if one.path == event.path]
        if edits:
            edit = edits[-1]
            edit.status, edit.reason, edit.after_blob = event.status, event.reason, event.after_blob
            edit.added_lines, edit.removed_lines = event.added_lines, event.removed_lines

    def _finished(self, event: ev.ToolCallFinished, at_ms: int) -> None:
        result = event.result
        call = self._call(result.call_id)
        if call.run is not None:
            call.run.ended_ms = at_ms
        call.finished_ms, call.text = at_ms, result.text
        call.error = result.error.value if result.error else ""
        call.bad_exit, call.not_run = result.bad_exit, result.not_run
        call.duration_ms = result.duration_ms

    def _begin_wait(self, wait: tr.WaitTrace) -> None:
        self._waits[wait.id] = wait
        self._add(wait)

    def _end_wait(self, wait_id: str, answer: str, by: str, at_ms: int) -> tr.WaitTrace:
        wait = self._waits.get(wait_id) or tr.WaitTrace(at_ms)
        wait.ended_ms, wait.answer, wait.answered_by = at_ms, answer, by
        return wait

    def _child_ended(self, event: ev.ChildEnded, at_ms: int) -> None:
        side = self._children.get(event.child_id) or tr.SideTrace(at_ms)
        side.ended_ms, side.text = at_ms, str(event.report)
        side.steps, side.usage = event.steps, event.usage
        side.failure = f"{event.stop}: {event.why}" if event.why else ""

    def _add(self, item: tr.StepTrace | tr.Note | tr.WaitTrace | tr.SideTrace) -> None:
        if self._turn is not None:
            self._turn.items.append(item)

    def _hooked(self, event: ev.HookRan, at_ms: int) -> None:
        """Add a hook to its step; a hook before a model request belongs to the next step."""
        hook = tr.HookTrace(
            at_ms - event.duration_ms,
            at_ms,
            name=event.name,
            moment=event.point.value,
            outcome=event.did,
            text=event.text,
            call_id=event.call_id,
        )
        is_ahead = event.point is HookPoint.BEFORE_LLM_CALL
        if is_ahead or self._step is None:
            self._hooks.append(hook)
        else:
            self._step.hooks.append(hook)

    def _found(self, event: ev.FindingsReported, at_ms: int) -> None:
        """Add findings to the running call; as a note if none runs or there are problems."""
        call = self._last_call
        is_running = call is not None and call.finished_ms is None
        if call is not None and is_running:
            call.findings = list(event.findings)
        if event.problems or not is_running:
            self._note(event, at_ms)

    def _note(self, event: ev.Event, at_ms: int) -> None:
        note = note_of(event, at_ms)
        if note is not None:
            self._add(note)


def _changed(event: ev.CommandChanged) -> tr.EditTrace:
    kind = "delete" if event.is_gone else "create" if event.is_new else "change"
    return tr.EditTrace(
        event.path,
        kind,
        before_blob=event.before_blob,
        after_blob=event.after_blob,
        status="applied",
        is_by_command=True,
        is_before_known=event.is_before_known,
    )
