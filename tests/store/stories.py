"""Events for the store's tests: a journal that numbers them, and one turn with everything in it."""

from __future__ import annotations

import sqlalchemy as sa

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Preview,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.findings import Finding
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.store.location import locate

ROOTS = ("file:///home/me/a", "file:///home/me/b")


class Journal:
    """Numbers a session's events from 1; the clock goes on by 10 ms with each."""

    def __init__(self, session_id: str = "ses_1", *, seq: int = 0, start_ms: int = 1_000) -> None:
        self.session_id = session_id
        self.seq = seq
        self._start_ms = start_ms

    def next(self, event: ev.Event) -> ev.StoredEvent:
        self.seq += 1
        at_ms = self._start_ms + 10 * self.seq
        return ev.StoredEvent(session_id=self.session_id, seq=self.seq, at_ms=at_ms, event=event)

    def all(self, *events: ev.Event) -> list[ev.StoredEvent]:
        return [self.next(event) for event in events]


def created(session_id: str = "ses_1", roots: tuple[str, ...] = ROOTS) -> ev.SessionCreated:
    return ev.SessionCreated(session_id=session_id, roots=roots, mode=Mode.ASK, model="m/one")


def noise(text: str = "") -> ev.Moved:
    """An event that nobody waits for and nothing is derived from."""
    return ev.Moved(to=Phase.CHECK, why=text)


def ended(turn_id: str = "trn_1") -> ev.TurnEnded:
    return ev.TurnEnded(
        turn_id=turn_id, stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="Done."
    )


TURN: tuple[ev.Event, ...] = (
    created(),
    ev.TurnStarted(turn_id="trn_1", prompt="Add a greeting\nto the app"),
    ev.Moved(to=Phase.PREPARE),
    ev.RequestPrepared(step_id="stp_1", number=1),
    ev.AttemptFinished(
        step_id="stp_1", failure="overloaded", message="503", model="m/one",
        usage=Usage(input_tokens=7),
    ),
    ev.RecoveryChosen(step_id="stp_1", origin="transport", action="retry", wait_s=2.0),
    ev.RequestPrepared(step_id="stp_1", number=1),
    ev.AttemptFinished(
        step_id="stp_1", finish=FinishReason.TOOL_CALLS, model="m/one",
        usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=60, cost_usd=0.25),
    ),
    ev.Answered(
        step_id="stp_1",
        message=AssistantMessage(
            text="I add it.",
            calls=(
                ToolCall(id="cal_1", provider_id="a", tool="write_file", arguments_json='{"a":1}'),
                ToolCall(id="cal_2", provider_id="b", tool="run_command", arguments_json="{}"),
            ),
        ),
    ),
    ev.CallDecided(call_id="cal_1", decision="ask", origin="approval", reason="it writes"),
    ev.ApprovalRequested(
        request=ApprovalRequest(
            id="apr_1", call_id="cal_1", turn_id="trn_1", tool="write_file", reason="it writes",
            preview=Preview(title="Create hi.py", payload="+hi"), digest="d1",
            choices=(ApprovalChoice.ALLOW_ONCE,),
        )
    ),
    ev.ApprovalResolved(
        approval_id="apr_1", grant="write_file",
        answer=ApprovalAnswer(choice=ApprovalChoice.ALLOW_SESSION, by="code_action"),
    ),
    ev.ToolCallStarted(
        call_id="cal_1", tool="write_file", effect=Effect.WRITE, paths=("hi.py",),
        arguments_json='{"a":2}',
    ),
    ev.EditIntended(
        call_id="cal_1", edit=CreateFile(path="hi.py", text="hi\n"), before_blob=None
    ),
    ev.EditApplied(
        call_id="cal_1", path="hi.py", status="applied", added_lines=3, removed_lines=1
    ),
    ev.ToolCallFinished(
        result=ToolResult(call_id="cal_1", text="Created hi.py", duration_ms=12),
        effect=Effect.WRITE,
    ),
    ev.CallDecided(
        call_id="cal_2", decision="deny", origin="command_safety", reason="deletes",
        effect=Effect.EXECUTE,
    ),
    ev.ToolCallFinished(
        result=ToolResult(call_id="cal_2", text="Not allowed", error=ErrorKind.DENIED)
    ),
    ev.FindingsReported(
        paths=("hi.py",),
        findings=(Finding(path="hi.py", checker="ruff", code="F821", message="who", start_line=4),),
    ),
    ev.PlanUpdated(items=(PlanItem(text="greet", status=PlanStatus.COMPLETED),)),
    ev.RequestPrepared(step_id="stp_2", number=2),
    ev.AttemptFinished(
        step_id="stp_2", finish=FinishReason.STOP, model="m/one",
        usage=Usage(input_tokens=130, output_tokens=5, cost_usd=0.5),
    ),
    ev.Answered(step_id="stp_2", message=AssistantMessage(text="Done.", reasoning="all there")),
    ev.GateFailed(origin="compile", text="F821 in hi.py"),
    ev.QuestionAsked(
        question=Question(id="qst_1", turn_id="trn_1", origin="compile", text="Go on?")
    ),
    ev.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="stop")),
    ev.TurnEnded(
        turn_id="trn_1", stop=StopReason.LOOP_DETECTED, status=TurnStatus.ESCALATED,
        output="Greeting added.", failure_reason="You stopped it.", open_tasks=("test it",),
    ),
)  # fmt: skip
"""One turn that retries, asks, edits, is denied a call, fails a gate and is stopped by a user."""


def sa_engine(place: str) -> sa.Engine:
    """Return another program's way into a store."""
    location = locate(place)
    return sa.create_engine(location.url or f"sqlite:///{location.path}", poolclass=sa.NullPool)
