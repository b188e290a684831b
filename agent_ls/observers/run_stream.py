"""Translates a session's events to those that other programs see (``domain/run_events.py``).

Secrets in arguments, results and texts are masked, as in every log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from pydantic import JsonValue

from agent_ls.domain import events as ev
from agent_ls.domain import run_events as out
from agent_ls.domain.findings import Finding
from agent_ls.domain.hooks import HookOutcome
from agent_ls.domain.plain_json import plain_json
from agent_ls.domain.usage import Usage
from agent_ls.loop.state.state import TurnState
from agent_ls.observers.call_summary import summary_of
from agent_ls.safety.secrets import mask

Events = Iterable[out.RunEvent]


class RunStream:
    """A reader that hands the events on, in order."""

    def __init__(self, hand_on: Callable[[out.RunEvent], None]) -> None:
        """``hand_on`` gets each event; it must not block."""
        self._hand_on = hand_on
        self._tools: dict[str, str] = {}
        """The tools of the calls, by id."""
        self._used = Usage()

    def go_on(self, turn: TurnState) -> None:
        """Hand on that a turn goes on which was cut off, and none of what happened in it before."""
        for answered in turn.events.each(ev.Answered):
            self._tools |= {call.id: call.tool for call in answered.message.calls}
        self._used = turn.usage
        self._hand_on(out.TurnStarted(turn_id=turn.turn_id, prompt=turn.prompt, is_resumed=True))

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Hand on what the event means, often nothing."""
        event = stored.event
        for part in (self._of_turn, self._of_call, _of_user, _notices):
            for one in part(event):
                self._hand_on(one)
        if (used := _used(event)) != Usage():
            self._used += used
            self._hand_on(_usage(self._used))

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Hand on a piece that is not stored."""
        match piece:
            case ev.TextStreamed(text=text):
                self._hand_on(out.Text(text=text))
            case ev.ReasoningStreamed(text=text):
                self._hand_on(out.Reasoning(text=text))
            case ev.AttemptDiscarded():
                self._hand_on(out.TextDiscarded())
            case ev.CallOutputStreamed(call_id=call_id, text=text):
                self._hand_on(out.ToolOutput(call_id=call_id, text=text))
            case _:
                assert_never(piece)

    def _of_turn(self, event: ev.Event) -> Events:
        match event:
            case ev.TurnStarted():
                self._tools, self._used = {}, Usage()
                yield out.TurnStarted(turn_id=event.turn_id, prompt=event.prompt)
            case ev.RequestPrepared(number=number):
                yield out.StepStarted(number=number)
            case ev.Answered(message=message):
                if message.text.strip():
                    yield out.Message(text=message.text)
                for call in message.calls:
                    self._tools[call.id] = call.tool
                    yield out.ToolCall(
                        call_id=call.id,
                        tool=call.tool,
                        title=summary_of(call.tool, call.arguments_json),
                        arguments=_arguments(call.arguments_json),
                    )
            case ev.PlanUpdated(items=items):
                plan = [out.PlanItem(text=one.text, status=one.status) for one in items]
                yield out.PlanUpdated(items=tuple(plan))
            case ev.FindingsReported(paths=paths, findings=findings):
                yield out.ProblemsFound(paths=paths, problems=tuple(map(_problem, findings)))
            case _:
                pass

    def _of_call(self, event: ev.Event) -> Events:
        match event:
            case ev.ToolCallFinished(result=result):
                yield out.ToolResult(
                    call_id=result.call_id,
                    tool=self._tools.get(result.call_id, ""),
                    outcome=result.outcome,
                    text=result.text,
                    duration_ms=result.duration_ms,
                )
            case ev.EditApplied():
                yield out.FileEdited(
                    call_id=event.call_id,
                    path=event.path,
                    status=event.status,
                    reason=event.reason,
                    added_lines=event.added_lines,
                    removed_lines=event.removed_lines,
                )
            case ev.CommandChanged():
                change = "deleted" if event.is_gone else "created" if event.is_new else "changed"
                yield out.FileChanged(call_id=event.call_id, path=event.path, change=change)
            case _:
                pass


def _of_user(event: ev.Event) -> Events:
    match event:
        case ev.ApprovalRequested(request=request):
            yield out.ApprovalRequested(
                approval_id=request.id,
                call_id=request.call_id,
                tool=request.tool,
                title=mask(request.preview.title),
                reason=request.reason,
                payload=mask(request.preview.payload),
            )
        case ev.ApprovalResolved(answer=answer):
            yield out.ApprovalResolved(
                approval_id=event.approval_id,
                choice=answer.choice.value,
                by=answer.by,
                note=answer.note,
            )
        case ev.QuestionAsked(question=question):
            yield out.QuestionAsked(
                question_id=question.id, text=question.text, options=question.options
            )
        case ev.QuestionResolved(answer=answer):
            yield out.QuestionResolved(
                question_id=event.question_id, text=answer.text, by=answer.by
            )
        case _:
            pass


def _notices(event: ev.Event) -> Events:
    """Yield what a user would read in the log, and programs seldom need by field."""
    if (said := _notice(event)) is not None:
        origin, text = said
        yield out.Notice(origin=origin, text=mask(text))


def _notice(event: ev.Event) -> tuple[str, str] | None:  # noqa: C901 - one arm for each kind of event
    match event:
        case ev.AttemptFinished(failure=str(failure)):
            return "model", event.message or failure
        case ev.RecoveryChosen(action=action) if action != "fail":
            wait = f" in {event.wait_s:g} s" if event.wait_s else ""
            return event.origin, f"{action}{wait}"
        case ev.AdviceGiven():
            return event.origin, event.message or event.failure or event.text
        case ev.AdvisoryRaised() | ev.NudgeAdded() | ev.GateFailed():
            return event.origin, event.text
        case ev.Compacted():
            size = f"{event.before_tokens} → {event.after_tokens} tokens"
            return event.origin, f"The conversation was shortened: {size}."
        case ev.CommandChangesLeftOut() | ev.FilesLost():
            return "review", event.text
        case ev.MonitorAlerted():
            return "external_monitor", event.text
        case ev.EffectSimulated(what=what):
            return "dry_run", f"Not done: {what}"
        case ev.ChildStarted():
            return "delegate", f"{event.kind} starts: {event.task}"
        case ev.ChildEnded():
            return "delegate", f"{event.kind} ended: {event.stop}"
        case ev.HookRan() if event.outcome is not HookOutcome.PASSED:
            return f"hook {event.name}", event.text or event.did
        case ev.CancelRequested(by=by):
            return "cancel", f"Stopped by {by}."
        case _:
            return None


def _used(event: ev.Event) -> Usage:
    match event:
        case ev.AttemptFinished() | ev.AdviceGiven() | ev.ChildEnded():
            return event.usage
        case _:
            return Usage()


def _usage(used: Usage) -> out.UsageChanged:
    return out.UsageChanged(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        reasoning_tokens=used.reasoning_tokens,
        cost_usd=used.known_cost_usd,
    )


def _problem(finding: Finding) -> out.Problem:
    return out.Problem(
        path=finding.path,
        line=finding.start_line + 1,
        column=finding.start_column + 1,
        severity=finding.severity.value,
        checker=finding.checker,
        code=finding.code,
        message=finding.message,
    )


def _arguments(arguments_json: str) -> JsonValue:
    try:
        return _masked(plain_json(arguments_json or "{}"))
    except ValueError:
        return mask(arguments_json)


def _masked(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return mask(value)
        case list():
            return [_masked(one) for one in value]
        case dict():
            return {name: _masked(one) for name, one in value.items()}
        case _:
            return value
