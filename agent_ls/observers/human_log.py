"""The log for a person: one short line per thing that happened, as it happens.

Source: seed 002, "Human logging". Streamed text is shown elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO

from agent_ls.domain import events as ev
from agent_ls.domain.calls import ToolCall
from agent_ls.domain.findings import Finding
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import PLAIN, STATUS, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.observers.call_summary import short
from agent_ls.observers.human_lines import (
    attempt,
    changed,
    checked,
    edited,
    named,
    of_policies,
    recovery,
    trouble_of,
)

_DELEGATES = "delegate"
"""The tool whose output is what another agent does."""
_SIGNS = {
    TurnStatus.SUCCESS: "✅ Done",
    TurnStatus.PARTIAL: "⚠️  Stopped before it was done",
    TurnStatus.ESCALATED: "⚠️  Stopped for a person to decide",
    TurnStatus.FAILED: "❌ Failed",
    TurnStatus.CANCELLED: "⏹️  Cancelled",
}


@dataclass(slots=True)
class _Turn:
    """What the last line of a turn adds up, and what later lines refer to."""

    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    last_started: str = ""
    is_heard: bool = True
    """False from where the turn closes until the model has said its last words."""
    trouble: str = ""
    """Why the model was asked again, as it was last told."""
    asked: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])


class HumanLog:
    """Writes the lines to a text stream."""

    def __init__(
        self, stream: TextIO, *, with_answers: bool = True, with_approvals: bool = True
    ) -> None:
        """Take where to write; without what is shown elsewhere: answers that stream, and approvals
        that this terminal asks for.
        """
        self._with_approvals = with_approvals
        self._stream = stream
        self._with_answers = with_answers
        self._turn = _Turn()
        self._findings: dict[str, list[Finding]] = {}
        """What checkers said last, by path: only what is not among it is new."""

    def on_event(self, stored: ev.StoredEvent) -> None:
        """Write the event's lines, if it has any."""
        self._write(self.lines_of(stored.event))

    def go_on(self, session_id: str, events: Iterable[ev.StoredEvent]) -> None:
        """Say which turn goes on and what its process left unknown, and count on from there."""
        prompt, interrupted, results = "", (), dict[str, ev.ToolCallFinished]()
        changed: tuple[str, ...] = ()
        for stored in events:
            self.lines_of(stored.event)
            match stored.event:
                case ev.TurnStarted():
                    prompt = stored.event.prompt
                case ev.ToolCallFinished(result=result):
                    results[result.call_id] = stored.event
                case ev.SessionResumed(interrupted_calls=calls, changed_files=changed):
                    interrupted = calls
                case _:
                    pass
        lines = [f"▶ Going on with {session_id}: {short(prompt)}"]
        for call_id in interrupted:
            call = self._turn.asked[call_id]
            lines += [f"   {named(call.tool, call.arguments_json)}"]
            lines += [f"      {self._result(results[call_id])}"]
        if changed:
            files = short(", ".join(changed), 200)
            lines.append(f"   ⚠️  Not as the agent left them, so it looks again: {files}")
        self._write(lines)

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        text = "".join(f"{line}\n" for line in lines)
        try:
            self._stream.write(text)
        except UnicodeEncodeError as error:
            # A terminal that cannot show the signs still gets the words.
            self._stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
        self._stream.flush()

    def lines_of(self, event: ev.Event) -> list[str]:
        """Return what a person reads of the event that comes next; often nothing."""
        lines: list[str] = []
        for part in (self._of_step, self._of_call, self._of_side, self._of_turn, of_policies):
            lines = lines or part(event)
        return lines

    def on_ephemeral(self, session_id: str, piece: ev.Ephemeral) -> None:
        """Show what a sub-agent does; other streamed pieces are shown elsewhere."""
        if not isinstance(piece, ev.CallOutputStreamed):
            return
        call = self._turn.asked.get(piece.call_id)
        if call is not None and call.tool == _DELEGATES:
            self._write([f"      {short(line)}" for line in piece.text.splitlines()])

    def _of_step(self, event: ev.Event) -> list[str]:
        """Return the lines of asking the model."""
        match event:
            case ev.RequestPrepared():
                self._turn.steps = event.number
                without = ", text only" if event.text_only else ""
                tokens = f"about {event.estimated_tokens:,} tokens"
                many = "" if event.messages == 1 else "s"
                sent = f"{event.messages} message{many}, " if event.messages else ""
                asking = f"asking the model ({sent}{tokens}{without})"
                return ["", f"🔄 Step {event.number} → {asking}"]
            case ev.AttemptFinished():
                self._count(event.usage)
                self._turn.is_heard = self._turn.is_heard or event.failure is None
                return [attempt(event)]
            case ev.RecoveryChosen():
                told, self._turn.trouble = self._turn.trouble, trouble_of(event)
                return recovery(event, told)
            case ev.Answered():
                return self._answered(event)
            case _:
                return []

    def _of_side(self, event: ev.Event) -> list[str]:
        """Return the lines of what hooks, other models and sub-agents did."""
        match event:
            case ev.HookRan():
                why = f": {short(event.text)}" if event.text else ""
                seconds = f" ({event.duration_ms / 1000:.1f} s)" if event.duration_ms >= 100 else ""
                return [f"   🪝 {event.name} ({event.point}): {event.did}{seconds}{why}"]
            case ev.AdviceGiven():
                self._count(event.usage)
                said = f"{event.failure}: {event.message}" if event.failure else event.text
                return [f"   · {event.origin} asked {short(event.model)}: {short(said)}"]
            case ev.ChildStarted():
                return [f"   👥 {event.kind} starts: {short(event.task)}"]
            case ev.ChildEnded():
                self._count(event.usage)
                steps = f"{event.steps} step{'' if event.steps == 1 else 's'}"
                tokens = f"{event.usage.total_tokens:,} tokens"
                return [f"   👥 {event.kind} ended: {event.stop}, {steps}, {tokens}"]
            case _:
                return []

    def _count(self, usage: Usage) -> None:
        self._turn.tokens += usage.total_tokens
        self._turn.cost_usd += usage.cost_usd

    def _answered(self, event: ev.Answered) -> list[str]:
        calls = event.message.calls
        self._turn.asked |= {call.id: call for call in calls}
        lines: list[str] = []
        if self._with_answers and event.message.text.strip():
            lines.append(f"   💬 {short(event.message.text)}")
        many = "" if len(calls) == 1 else "s"
        if event.origin == "plan":
            return [*lines, f"   📋 Carrying out {len(calls)} step{many} of the plan"]
        if not self._turn.is_heard:
            return [*lines, "   · The model gave no last words; these are made from what happened"]
        what = f"{len(calls)} tool call{many}" if calls else "a final text"
        return [*lines, f"   ✓ The model answered with {what}"]

    def _of_call(self, event: ev.Event) -> list[str]:
        """Return the lines of one tool call."""
        match event:
            case ev.ToolCallStarted():
                self._turn.calls += 1
                self._turn.last_started = event.call_id
                return [f"   {named(event.tool, event.arguments_json)}"]
            case ev.CallDecided(decision="deny"):
                call = self._turn.asked.get(event.call_id)
                which = named(call.tool, call.arguments_json) if call else "🔧 a call"
                return [f"   {which}", f"      ⛔ {event.origin}: {short(event.reason)}"]
            case ev.EditApplied():
                return [f"      {edited(event)}"]
            case ev.CommandChanged():
                return [f"      {changed(event)}"]
            case ev.ToolCallFinished():
                return [f"      {self._result(event)}"]
            case ev.ApprovalRequested(request=request) if self._with_approvals:
                return [f"   ❓ May it? {short(request.preview.title)} ({short(request.reason)})"]
            case ev.ApprovalResolved(answer=answer):
                note = f": {short(answer.note)}" if answer.note else ""
                return [f"      ↳ {answer.choice} ({answer.by}){note}"]
            case ev.FindingsReported():
                before = [one for path in event.paths for one in self._findings.get(path, ())]
                now = event.findings if not event.unanswered else (*event.findings, *before)
                for path in event.paths:
                    self._findings[path] = [one for one in now if one.path == path]
                return checked(event, before)
            case _:
                return []

    def _result(self, event: ev.ToolCallFinished) -> str:
        result = event.result
        call = self._turn.asked.get(result.call_id)
        # Calls that run at the same time end in any order.
        is_next = result.call_id == self._turn.last_started
        which = "" if is_next or call is None else f"{call.tool}: "
        seconds = f" ({result.duration_ms / 1000:.1f} s)" if result.duration_ms >= 100 else ""
        if result.error is None and result.bad_exit:
            return f"✗ {which}{result.bad_exit}{seconds}"
        if result.error is None:
            return f"✓ {which}OK{seconds}"
        return f"✗ {which}{result.error.upper()}{seconds}: {short(result.text)}"

    def _of_turn(self, event: ev.Event) -> list[str]:
        """Return the lines of a turn's beginning, its end and what a person does to it."""
        match event:
            case ev.TurnStarted(prompt=prompt):
                self._turn = _Turn()
                return [f"▶ {short(prompt)}"]
            case ev.SessionResumed(interrupted_calls=calls):
                return [f"▶ Resumed; interrupted calls: {len(calls)}"]
            case ev.PromptQueued(text=text, kind=kind):
                return [f"▶ {'While it works' if kind == 'steer' else 'Next'}: {short(text)}"]
            case ev.WrapUpRequested(by=by):
                return [f"⏹️  Coming to an end ({short(by)})"]
            case ev.CancelRequested(by=by):
                return [f"⏹️  Stopping ({short(by)})"]
            case ev.Moved(to=Phase.CLOSE, stop=stop, why=why):
                self._turn.is_heard = False
                closing = f"🔄 Closing ({stop or 'asked to'}, {self._counted_steps()})"
                return [f"⚠️  {short(why)}", closing] if why else [closing]
            case ev.TurnEnded():
                return self._ended(event)
            case _:
                return []

    def _ended(self, event: ev.TurnEnded) -> list[str]:
        turn = self._turn
        calls = f"{turn.calls} tool call{'' if turn.calls == 1 else 's'}"
        cost = f", ${turn.cost_usd:.4f}" if turn.cost_usd else ""
        sign = _SIGNS.get(event.status, event.status.value)
        if event.status is TurnStatus.PARTIAL and STATUS[event.stop] is TurnStatus.SUCCESS:
            sign = "⚠️  Partly done"
        stop = "" if event.stop in PLAIN else f" ({event.stop})"
        return [
            "",
            f"{sign}{stop}",
            f"   {self._counted_steps()}, {calls}, {turn.tokens:,} tokens{cost}",
        ]

    def _counted_steps(self) -> str:
        return f"{self._turn.steps} step{'' if self._turn.steps == 1 else 's'}"
