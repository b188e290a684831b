"""One event of every kind, and of some kinds several: what everybody shows of them is compared with
``tests/lsp/gallery.txt``.
"""

from __future__ import annotations

from agent_ls.domain import events as ev
from agent_ls.domain.approvals import (
    ApprovalAnswer,
    ApprovalChoice,
    ApprovalRequest,
    Preview,
    Question,
    QuestionAnswer,
)
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolKind, ToolResult
from agent_ls.domain.edits import DeleteFile
from agent_ls.domain.findings import Finding
from agent_ls.domain.goals import Proof
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem, ProposedCall
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage

CALL = ToolCall(id="cal_1", provider_id="p", tool="edit_file", arguments_json='{"path": "a.py"}')
REQUEST = ApprovalRequest(
    id="apr_1",
    call_id="cal_1",
    turn_id="trn_1",
    tool="edit_file",
    reason="asks",
    preview=Preview(title="Edit a.py", payload="+x", kind=ToolKind.EDIT, path="a.py", line=3),
    digest="d",
    choices=(ApprovalChoice.ALLOW_ONCE, ApprovalChoice.REJECT_ONCE),
)

EVENTS: tuple[ev.Event, ...] = (
    ev.AdviceGiven(
        origin="summarize",
        model="m",
        usage=Usage(input_tokens=70, output_tokens=5),
    ),
    ev.AdviceGiven(origin="confidence", model="m", text="0.8\nGoing well."),
    ev.AdviceGiven(origin="summarize", model="m", failure="timeout", message="no"),
    ev.AdvisoryRaised(origin="budget", text="t", priority=0),
    ev.AdvisoryRaised(origin="budget", text="75 % spent", priority=0),
    ev.AdvisoryRaised(origin="budget", text="75 %", priority=0),
    ev.Answered(step_id="stp_1", message=AssistantMessage(text="ok", calls=(CALL,))),
    ev.ApprovalRequested(request=REQUEST),
    ev.ApprovalResolved(
        approval_id="apr_1", answer=ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="panel")
    ),
    ev.ApprovalResolved(
        approval_id="a", answer=ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, note="not now")
    ),
    ev.AttemptFinished(step_id="stp_1", failure="server", message="down"),
    ev.AttemptFinished(step_id="stp_1", usage=Usage(input_tokens=5, output_tokens=2, cost_usd=1)),
    ev.AttemptFinished(step_id="s", failure="overloaded", message="503\nbusy"),
    ev.CallDecided(call_id="cal_1", decision="ask", origin="approval"),
    ev.CallDecided(call_id="c", decision="allow", origin="guards"),
    ev.CallDecided(call_id="c", decision="deny", origin="path_guard", reason="outside"),
    ev.CallDecided(call_id="cal_1", decision="allow", origin="guards"),
    ev.CancelRequested(by="panel"),
    ev.CancelRequested(by="SIGINT"),
    ev.ChildEnded(
        call_id="cal_1",
        child_id="ses_2",
        kind="explore",
        stop=StopReason.COMPLETED,
        usage=Usage(input_tokens=1),
    ),
    ev.ChildEnded(
        call_id="cal_1",
        child_id="ses_2",
        kind="explore",
        stop=StopReason.COMPLETED,
        steps=1,
        usage=Usage(input_tokens=1000),
    ),
    ev.ChildStarted(call_id="cal_1", child_id="ses_2", kind="explore", task="Look.", mode=Mode.ASK),
    ev.CommandChanged(call_id="cal_1", path="a.py"),
    ev.CommandChangesLeftOut(call_id="cal_1", recorded_files=2, left_files=3, left_new_files=1),
    ev.FilesLost(call_id="cal_1", why="ignored", paths=("a.db", "notes/"), number=3),
    ev.Compacted(origin="w", why="y", drop_before=1, summary="s", before_tokens=9, after_tokens=3),
    ev.Compacted(
        origin="window",
        why="full",
        drop_before=3,
        summary="…",
        before_tokens=12000,
        after_tokens=4000,
    ),
    ev.Compacted(
        origin="window",
        why="full",
        drop_before=3,
        summary="All.",
        before_tokens=12000,
        after_tokens=4000,
    ),
    ev.EditApplied(call_id="cal_1", path="a.py", status="applied", added_lines=2),
    ev.EditApplied(call_id="c", path="a", status="stale", reason="it changed"),
    ev.EditIntended(
        call_id="cal_1", edit=DeleteFile(path="a.py", base_version="v"), before_blob=None
    ),
    ev.EffectSimulated(what="change a.py"),
    ev.FileRenamed(path="a.py", new_path="b.py"),
    ev.FinalOutputGiven(call_id="cal_1", value={"a": 1}),
    ev.FinalOutputGiven(call_id="cal_1", value={"ä": 1}),
    ev.FindingsReported(
        paths=("a.py",), findings=(Finding(path="a.py", checker="ruff", message="m"),)
    ),
    ev.FindingsReported(
        paths=("a",),
        problems=("tsc did not run: no node", "ruff: odd"),
        findings=(Finding(path="a", checker="ruff", code="F1", message="who\nelse", start_line=2),)
        * 7,
    ),
    ev.FindingsReported(paths=("a",), problems=("tsc did not run: no node",)),
    ev.FindingsReported(paths=("a",), unanswered=("tsc", "mypy")),
    ev.GateFailed(origin="compile", text="bad"),
    ev.GateFailed(origin="compile", text="2 problems:\na"),
    ev.GateFailed(origin="compile", text="No."),
    ev.GoalChecked(
        origin="verification",
        proofs=(
            Proof(of="pytest", is_met=True, by="command"),
            Proof(of="API kept.", is_met=False, by="model"),
        ),
    ),
    ev.GoalChecked(
        origin="verification",
        proofs=(
            Proof(of="make test", is_met=True, by="command"),
            Proof(of="It is fast.", is_met=False, by="model"),
        ),
    ),
    ev.GoalCommandStarted(command="pytest"),
    ev.GrantsRevoked(grants=("run:make test",), why="Makefile was edited."),
    ev.GrantsRevoked(grants=("edit", "run"), why="Makefile was edited"),
    ev.HookRan(
        point=HookPoint.BEFORE_TOOL, name="h", outcome=HookOutcome.TIMED_OUT, text="too slow"
    ),
    ev.HookRan(point=HookPoint.AFTER_LLM_CALL, name="h", outcome=HookOutcome.PASSED),
    ev.HookRan(point=HookPoint.BEFORE_TOOL, name="h", outcome=HookOutcome.FAILED, text="w"),
    ev.ModeChanged(mode=Mode.AUTO),
    ev.ModelChanged(model="n"),
    ev.ModelChanged(model="x"),
    ev.MonitorAlerted(pattern="no_progress", text="Nothing new."),
    ev.MonitorAlerted(pattern="alternation", text="Back and forth."),
    ev.MonitorAlerted(pattern="alternation", text="A-B"),
    ev.Moved(to=Phase.CALL),
    ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS),
    ev.Moved(to=Phase.CLOSE, stop=StopReason.TIMEOUT, why="No answer within 600 s."),
    ev.Moved(to=Phase.CHECK),
    ev.Moved(to=Phase.CLOSE, stop=StopReason.MAX_STEPS, why="Used up."),
    ev.Moved(to=Phase.CLOSE),
    ev.NudgeAdded(origin="compile", text="fix"),
    ev.NudgeAdded(origin="compile", text="Mend it."),
    ev.OutputStored(call_id="cal_1", path=("file", "a"), value=1),
    ev.OutputStored(call_id="cal_1", path=("state", "x"), replaces="cal_2"),
    ev.OutputStored(call_id="cal_1", path=("state", "x")),
    ev.PlanProposed(
        plan_id="pln_1",
        origin="plan_mode",
        calls=(
            ProposedCall(
                call=ToolCall(id="cal_1", tool="edit_file", arguments_json="{}", provider_id=""),
                title="Change a.py",
            ),
        ),
    ),
    ev.PlanProposed(
        plan_id="pln_1", origin="plan_mode", calls=(ProposedCall(call=CALL, title="Write a.py"),)
    ),
    ev.PlanResolved(plan_id="pln_1", approved=("cal_1",)),
    ev.PlanResolved(plan_id="pln_1", approved=("cal_1",), each=("cal_2", "cal_3")),
    ev.PlanResolved(plan_id="pln_1", unasked=("cal_1",)),
    ev.PlanUpdated(items=(PlanItem(text="one"),)),
    ev.PlanUpdated(items=()),
    ev.PolicySilenced(origin="x"),
    ev.PolicySilenced(origin="open_tasks"),
    ev.PrefixSet(system="s", tools=(), reason="first"),
    ev.PrefixSet(system="s", tools=(), reason="mode"),
    ev.PrefixSet(system="", tools=(), reason="first"),
    ev.PrefixSet(system="", tools=(), reason="rules changed"),
    ev.PromptQueued(text="also", kind="steer"),
    ev.PromptQueued(text="And b", kind="steer"),
    ev.PromptQueued(text="And c", kind="follow_up"),
    ev.QuestionAsked(question=Question(id="qst_1", turn_id="t", origin="ask_user", text="?")),
    ev.QuestionAsked(question=Question(id="q", turn_id="t", origin="loop", text="On?")),
    ev.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="yes")),
    ev.QuestionResolved(question_id="q", answer=QuestionAnswer(text="", by="nobody")),
    ev.RecoveryChosen(step_id="stp_1", origin="transport", action="retry", text="down", wait_s=2),
    ev.RecoveryChosen(step_id="stp_1", origin="empty", action="reask", text="Say it."),
    ev.RecoveryChosen(step_id="stp_1", origin="c", action="continue", text="go", partial="a"),
    ev.RecoveryChosen(step_id="s", origin="transport", action="retry", wait_s=2.5),
    ev.RecoveryChosen(step_id="s", origin="empty", action="reask", text="Say it."),
    ev.RecoveryChosen(step_id="s", origin="transport", action="retry", text="Busy.", wait_s=2.5),
    ev.RecoveryChosen(step_id="s", origin="empty", action="reask"),
    ev.RequestPrepared(step_id="stp_1", number=1),
    ev.ReviewApplied(review_id="rev_1", path="a.py", status="stale", reason="r"),
    ev.ReviewDecided(
        review_id="rev_1", decision="keep", turn_id="trn_1", path="a.py", hunks=("7.0",)
    ),
    ev.ReviewDecided(
        review_id="rev_1",
        decision="undo",
        turn_id="trn_1",
        path="a.py",
        edit=DeleteFile(path="a.py", base_version="v"),
    ),
    ev.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m"),
    ev.SessionResumed(interrupted_calls=("cal_1",)),
    ev.ResumeDeclined(),
    ev.SessionArchived(),
    ev.SessionArchived(is_archived=False),
    ev.SessionRenamed(title="Rounding"),
    ev.ToolCallFinished(
        result=ToolResult(call_id="cal_1", text="no", error=ErrorKind.DENIED, duration_ms=4)
    ),
    ev.ToolCallFinished(result=ToolResult(call_id="cal_1", text="ok", data={"n": 1})),
    ev.ToolCallStarted(call_id="cal_1", tool="edit_file", effect=Effect.WRITE, paths=("a.py",)),
    ev.TurnEnded(
        turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="done"
    ),
    ev.TurnEnded(
        turn_id="t",
        stop=StopReason.ERROR,
        status=TurnStatus.FAILED,
        output="",
        failure_reason="No key. Set one.",
    ),
    ev.TurnEnded(
        turn_id="t",
        stop=StopReason.COMPLETED,
        status=TurnStatus.PARTIAL,
        output="x",
        failure_reason="1 call was refused.",
    ),
    ev.TurnEnded(turn_id="t", stop=StopReason.MAX_STEPS, status=TurnStatus.PARTIAL, output="x"),
    ev.TurnStarted(turn_id="trn_1", prompt="hi", anchor=ev.Anchor(path="a.py", line=2)),
    ev.WrapUpRequested(by="panel"),
    ev.WrapUpRequested(by="user", text="Now."),
    ev.QueuedPromptChanged(prompt_id="pmt_1", text="Be quick.", kind="steer"),
    ev.QueuedPromptChanged(prompt_id="pmt_1", is_dropped=True),
    ev.EffortChanged(effort="high"),
    ev.CompactionRequested(by="user"),
    ev.CompactionSettled(is_shorter=True),
    ev.CompactionSettled(is_shorter=False),
    ev.BackgroundStarted(call_id="c", name="dev", command="npm run dev", limit_s=3_600),
    ev.BackgroundStarted(call_id="c", name="log", command="tail -f x", limit_s=60, reads_only=True),
    ev.BackgroundRead(name="dev", until_bytes=120),
    ev.BackgroundEnded(name="dev", end="exited", exit_code=1),
)
