"""Every event becomes what clients see, in their words."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from agent_ls.domain import events as e
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
from agent_ls.domain.model_io import ModelRole
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.plans import PlanItem, ProposedCall
from agent_ls.domain.stops import StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.lsp.faces.updates import Translation, of_ephemeral
from agent_ls.lsp.marks.titles import call_title

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


def check(*events: e.Event) -> list[dict[str, Any]]:
    """Return the updates of the last event, after the others."""
    translation = Translation({"edit_file": ToolKind.EDIT}, lambda path: f"file:///w/{path}")
    updates = [translation.feed(event) for event in events][-1]
    return [one.model_dump(mode="json", by_alias=True) for one in updates]


SESSION = e.SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m")

TABLE: list[tuple[e.Event, list[dict[str, Any]]]] = [
    (SESSION, [{"sessionUpdate": "session_created", "mode": "ask", "model": "m"}]),
    (
        e.SessionResumed(interrupted_calls=("cal_1",)),
        [{"sessionUpdate": "session_resumed", "interruptedToolCalls": ["cal_1"]}],
    ),
    (
        e.ModeChanged(mode=Mode.AUTO),
        [{"sessionUpdate": "current_mode_update", "currentModeId": "auto"}],
    ),
    (e.ModelChanged(model="n"), [{"sessionUpdate": "current_model_update", "model": "n"}]),
    (e.PolicySilenced(origin="x"), [{"sessionUpdate": "policy_silenced", "origin": "x"}]),
    (
        e.PromptQueued(text="also", kind="steer"),
        [{"sessionUpdate": "prompt_queued", "whenBusy": "steer"}],
    ),
    (
        e.TurnStarted(turn_id="trn_1", prompt="hi", anchor=e.Anchor(path="a.py", line=2)),
        [
            {
                "sessionUpdate": "turn_started",
                "anchor": {"path": "a.py", "uri": "file:///w/a.py", "line": 2},
            },
            {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}},
        ],
    ),
    (e.PrefixSet(system="s", tools=(), reason="first"), []),
    (
        e.PrefixSet(system="s", tools=(), reason="mode"),
        [{"sessionUpdate": "notice", "level": "info", "origin": "prefix"}],
    ),
    (e.Moved(to=Phase.CALL), [{"sessionUpdate": "phase_update", "phase": "call", "step": 0}]),
    (
        e.AdvisoryRaised(origin="budget", text="t", priority=0),
        [{"sessionUpdate": "notice", "origin": "budget"}],
    ),
    (e.RequestPrepared(step_id="stp_1", number=1), []),
    (
        e.AttemptFinished(step_id="stp_1", failure="server", message="down"),
        [{"sessionUpdate": "notice", "level": "warning", "text": "down"}],
    ),
    (
        e.AttemptFinished(
            step_id="stp_1", usage=Usage(input_tokens=5, output_tokens=2, cost_usd=1)
        ),
        [{"sessionUpdate": "usage_update", "used": 7, "cost": {"amount": 1.0, "currency": "USD"}}],
    ),
    (
        e.RecoveryChosen(
            step_id="stp_1", origin="transport", action="retry", text="down", wait_s=2
        ),
        [{"sessionUpdate": "notice", "level": "warning", "text": "down"}],
    ),
    (
        e.RecoveryChosen(step_id="stp_1", origin="empty", action="reask", text="Say it."),
        [{"sessionUpdate": "notice", "origin": "empty", "text": "reask: Say it.", "noticeId": ""}],
    ),
    (
        e.RecoveryChosen(step_id="stp_1", origin="c", action="continue", text="go", partial="a"),
        [{"sessionUpdate": "agent_message", "isPartial": True}],
    ),
    (
        e.Answered(step_id="stp_1", message=AssistantMessage(text="ok", calls=(CALL,))),
        [
            {"sessionUpdate": "agent_message", "stepId": "stp_1", "isPartial": False},
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "cal_1",
                "title": "edit_file a.py",
                "kind": "edit",
                "status": "pending",
                "rawInput": {"path": "a.py"},
            },
        ],
    ),
    (
        e.NudgeAdded(origin="compile", text="fix"),
        [{"sessionUpdate": "user_message_chunk", "origin": "compile"}],
    ),
    (e.GateFailed(origin="compile", text="bad"), [{"sessionUpdate": "gate_failed", "text": "bad"}]),
    (
        e.GoalCommandStarted(command="pytest"),
        [{"sessionUpdate": "notice", "text": "Goal: pytest runs."}],
    ),
    (
        e.GoalChecked(
            origin="verification",
            proofs=(
                Proof(of="pytest", is_met=True, by="command"),
                Proof(of="API kept.", is_met=False, by="model"),
            ),
        ),
        [{"sessionUpdate": "notice", "text": "Goal: 1 of 2 proven. Missing: API kept."}],
    ),
    (
        e.FindingsReported(
            paths=("a.py",), findings=(Finding(path="a.py", checker="ruff", message="m"),)
        ),
        [{"sessionUpdate": "findings", "paths": ["a.py"], "problems": []}],
    ),
    (
        e.CallDecided(call_id="cal_1", decision="ask", origin="approval"),
        [{"sessionUpdate": "tool_call_decision", "decision": "ask"}],
    ),
    (
        e.ApprovalRequested(request=REQUEST),
        [
            {
                "sessionUpdate": "permission_request",
                "approvalId": "apr_1",
                "kind": "edit",
                "payload": "+x",
                "rawInput": None,
                "options": [
                    {"optionId": "allow_once", "name": "Allow once"},
                    {"optionId": "reject_once", "name": "Reject"},
                ],
            }
        ],
    ),
    (
        e.ApprovalResolved(
            approval_id="apr_1", answer=ApprovalAnswer(choice=ApprovalChoice.ALLOW_ONCE, by="panel")
        ),
        [{"sessionUpdate": "permission_resolved", "outcome": "allow_once", "by": "panel"}],
    ),
    (
        e.QuestionAsked(question=Question(id="qst_1", turn_id="t", origin="ask_user", text="?")),
        [{"sessionUpdate": "question", "questionId": "qst_1", "options": []}],
    ),
    (
        e.QuestionResolved(question_id="qst_1", answer=QuestionAnswer(text="yes")),
        [{"sessionUpdate": "question_resolved", "text": "yes", "by": "user"}],
    ),
    (
        e.ToolCallStarted(call_id="cal_1", tool="edit_file", effect=Effect.WRITE, paths=("a.py",)),
        [{"sessionUpdate": "tool_call_update", "status": "in_progress"}],
    ),
    (
        e.EditIntended(
            call_id="cal_1", edit=DeleteFile(path="a.py", base_version="v"), before_blob=None
        ),
        [],
    ),
    (
        e.EditApplied(call_id="cal_1", path="a.py", status="applied", added_lines=2),
        [{"sessionUpdate": "file_edited", "status": "applied", "addedLines": 2}],
    ),
    (
        e.ReviewDecided(
            review_id="rev_1", decision="keep", turn_id="trn_1", path="a.py", hunks=("7.0",)
        ),
        [{"sessionUpdate": "review_update", "decision": "keep", "status": "applied"}],
    ),
    (
        e.ReviewDecided(
            review_id="rev_1",
            decision="undo",
            turn_id="trn_1",
            path="a.py",
            edit=DeleteFile(path="a.py", base_version="v"),
        ),
        [{"sessionUpdate": "review_update", "decision": "undo", "status": "in_progress"}],
    ),
    (
        e.ReviewApplied(review_id="rev_1", path="a.py", status="stale", reason="r"),
        [{"sessionUpdate": "review_update", "decision": None, "status": "stale"}],
    ),
    (
        e.FileRenamed(path="a.py", new_path="b.py"),
        [{"sessionUpdate": "review_update", "decision": None, "status": "applied"}],
    ),
    (
        e.ToolCallFinished(
            result=ToolResult(call_id="cal_1", text="no", error=ErrorKind.DENIED, duration_ms=4)
        ),
        [{"sessionUpdate": "tool_call_update", "status": "failed", "error": "denied"}],
    ),
    (
        e.ToolCallFinished(result=ToolResult(call_id="cal_1", text="ok", data={"n": 1})),
        [{"sessionUpdate": "tool_call_update", "status": "completed", "rawOutput": {"n": 1}}],
    ),
    (
        e.PlanUpdated(items=(PlanItem(text="one"),)),
        [{"sessionUpdate": "plan", "entries": [{"content": "one", "status": "pending"}]}],
    ),
    (
        e.Compacted(
            origin="w", why="y", drop_before=1, summary="s", before_tokens=9, after_tokens=3
        ),
        [{"sessionUpdate": "compacted", "beforeTokens": 9, "afterTokens": 3}],
    ),
    (
        e.AdviceGiven(
            origin="summarize",
            role=ModelRole.CHEAP,
            model="m",
            usage=Usage(input_tokens=70, output_tokens=5),
        ),
        [{"sessionUpdate": "usage_update", "used": 0}],
    ),
    (
        e.AdviceGiven(
            origin="confidence", role=ModelRole.CHEAP, model="m", text="0.8\nGoing well."
        ),
        [{"sessionUpdate": "notice", "origin": "confidence", "text": "0.8\nGoing well."}],
    ),
    (
        e.WrapUpRequested(by="panel"),
        [{"sessionUpdate": "notice", "level": "info", "origin": "wrap_up"}],
    ),
    (
        e.MonitorAlerted(pattern="no_progress", text="Nothing new."),
        [{"sessionUpdate": "notice", "origin": "external_monitor", "text": "Nothing new."}],
    ),
    (
        e.HookRan(
            point=HookPoint.BEFORE_TOOL, name="h", outcome=HookOutcome.TIMED_OUT, text="too slow"
        ),
        [{"sessionUpdate": "notice", "level": "warning", "origin": "hook h"}],
    ),
    (
        e.ChildStarted(
            call_id="cal_1", child_id="ses_2", kind="explore", task="Look.", mode=Mode.ASK
        ),
        [{"sessionUpdate": "notice", "origin": "sub-agent explore", "text": "started: Look."}],
    ),
    (
        e.ChildEnded(
            call_id="cal_1",
            child_id="ses_2",
            kind="explore",
            stop=StopReason.COMPLETED,
            usage=Usage(input_tokens=1),
        ),
        [
            {"sessionUpdate": "notice", "text": "ended: completed"},
            {"sessionUpdate": "usage_update"},
        ],
    ),
    (e.HookRan(point=HookPoint.AFTER_LLM_CALL, name="h", outcome=HookOutcome.PASSED), []),
    (e.OutputStored(call_id="cal_1", path=("file", "a"), value=1), []),
    (
        e.PlanProposed(
            plan_id="pln_1",
            origin="plan_mode",
            calls=(
                ProposedCall(
                    call=ToolCall(
                        id="cal_1", tool="edit_file", arguments_json="{}", provider_id=""
                    ),
                    title="Change a.py",
                ),
            ),
        ),
        [
            {
                "sessionUpdate": "notice",
                "origin": "plan_mode",
                "text": "Added to the proposed plan:\n- Change a.py",
            }
        ],
    ),
    (e.PlanResolved(plan_id="pln_1", approved=("cal_1",)), []),
    (e.CommandChanged(call_id="cal_1", path="a.py"), []),
    (
        e.CommandChangesLeftOut(call_id="cal_1", recorded_files=2, left_files=3, left_new_files=1),
        [
            {
                "sessionUpdate": "notice",
                "level": "warning",
                "origin": "review",
                "text": "The command changed 5 files, of which 2 are under review. The other 3 are "
                "not, 1 of them new: an undo leaves them as they are.",
            }
        ],
    ),
    (e.FinalOutputGiven(call_id="cal_1", value={"a": 1}), []),
    (
        e.GrantsRevoked(grants=("run:make test",), why="Makefile was edited."),
        [
            {
                "sessionUpdate": "notice",
                "text": "No longer allowed unasked: run:make test. Makefile was edited.",
            }
        ],
    ),
    (
        e.EffectSimulated(what="change a.py"),
        [{"sessionUpdate": "notice", "text": "Dry run, not done: change a.py"}],
    ),
    (e.CancelRequested(by="panel"), [{"sessionUpdate": "cancel_requested", "by": "panel"}]),
    (
        e.TurnEnded(
            turn_id="trn_1", stop=StopReason.COMPLETED, status=TurnStatus.SUCCESS, output="done"
        ),
        [{"sessionUpdate": "turn_ended", "stopReason": "completed", "status": "success"}],
    ),
]


@pytest.mark.parametrize(
    "event, expected", [pytest.param(*row, id=f"{n}-{row[0].type}") for n, row in enumerate(TABLE)]
)
def test_an_event_becomes_its_updates(event: e.Event, expected: list[dict[str, Any]]) -> None:
    updates = check(event)
    assert len(updates) == len(expected)
    for update, wanted in zip(updates, expected, strict=True):
        assert {key: update[key] for key in wanted} == wanted


def test_every_kind_of_event_has_a_row() -> None:
    union = get_args(get_args(e.Event)[0])
    assert {type(event) for event, _ in TABLE} == set(union)


def test_a_steer_is_a_message_when_the_model_gets_it() -> None:
    updates = check(
        e.PromptQueued(text="faster", kind="steer"),
        e.PromptQueued(text="later", kind="follow_up"),
        e.RequestPrepared(step_id="stp_2", number=2),
    )
    assert [(one["content"]["text"], one["origin"]) for one in updates] == [("faster", "steer")]


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_what_a_stop_overtook_goes_back_and_is_in_no_later_turn(kind: Any) -> None:
    queued = e.PromptQueued(text="faster", kind=kind)
    stop = e.CancelRequested(by="panel")
    end = e.TurnEnded(
        turn_id="trn_1", stop=StopReason.CANCELLED, status=TurnStatus.CANCELLED, output=""
    )
    begun = e.TurnStarted(turn_id="trn_2", prompt="next")
    prepared = e.RequestPrepared(step_id="stp_2", number=1)
    assert check(queued, stop)[0]["returned"] == ["faster"]
    assert check(queued, stop, stop)[0]["returned"] == []
    assert check(queued, stop, end, begun, prepared) == []


def test_a_queued_prompt_that_becomes_a_turn_is_said_once() -> None:
    queued = e.PromptQueued(text="next", kind="steer")
    begun = e.TurnStarted(turn_id="trn_2", prompt="next")
    prepared = e.RequestPrepared(step_id="stp_2", number=1)
    assert check(queued, begun, prepared) == []
    assert check(queued, begun, e.CancelRequested(by="panel"))[0]["returned"] == []


def notices(*events: e.Event) -> dict[str, str]:
    """Return what a client shows that keeps one notice an id, in order."""
    translation = Translation({}, lambda path: None)
    shown: dict[str, str] = {}
    for event in events:
        for update in translation.feed(event):
            found: Any = update
            if found.session_update == "notice":
                shown[found.notice_id or str(len(shown))] = found.text
    return {place: text for place, text in shown.items() if text}


def failure(turn: str, attempts: int, last: str) -> list[e.Event]:
    """Return a turn in which nothing but failures came from the model."""
    attempt = e.AttemptFinished(step_id="stp_1", failure="server", message="down.")
    events: list[e.Event] = [e.TurnStarted(turn_id=turn, prompt="Go.")]
    for number in range(1, attempts + 1):
        action = "retry" if number < attempts else last
        text = f"down. ({number} of {attempts})"
        events.append(attempt)
        events.append(
            e.RecoveryChosen(step_id="stp_1", origin="transport", action=action, text=text)
        )
    return events


def test_a_model_that_does_not_answer_is_one_notice_a_turn() -> None:
    assert notices(*failure("trn_1", 5, "retry")) == {"model:trn_1": "down. (5 of 5)"}
    both = [*failure("trn_1", 2, "retry"), *failure("trn_2", 1, "retry")]
    assert list(notices(*both)) == ["model:trn_1", "model:trn_2"]


def test_why_the_model_was_given_up_is_told_by_the_turns_end_alone() -> None:
    why = "down. Given up."
    done = e.Moved(to=Phase.DONE, stop=StopReason.ERROR, why=why)
    events = [*failure("trn_1", 5, "fail"), done]
    assert notices(*events) == {}
    ended = e.TurnEnded(
        turn_id="trn_1",
        stop=StopReason.ERROR,
        status=TurnStatus.FAILED,
        output="",
        failure_reason=why,
    )
    assert check(*events)[0]["detail"] == ""
    assert check(*events, ended)[0]["failureReason"] == why


def test_a_permission_request_carries_the_arguments_that_may_be_amended() -> None:
    answered = e.Answered(step_id="stp_1", message=AssistantMessage(calls=(CALL,)))
    [update] = check(answered, e.ApprovalRequested(request=REQUEST))
    assert update["rawInput"] == {"path": "a.py"}


def test_the_usage_is_told_beside_the_models_window() -> None:
    usage = Usage(input_tokens=600, output_tokens=400)
    for window_tokens, size in ((8_192, 8_192), (0, None)):
        [update] = check(
            e.RequestPrepared(step_id="stp_1", number=1, window_tokens=window_tokens),
            e.AttemptFinished(step_id="stp_1", usage=usage),
        )
        assert (update["used"], update["size"]) == (1_000, size)


def test_a_plan_carries_what_each_step_would_do() -> None:
    steps = tuple(
        ProposedCall(call=CALL, title=f"Edit {number}", payload="+x\n" * number)
        for number in (1, 5_000)
    )
    question = Question(id="qst_1", turn_id="t", origin="plan", text="Which?", steps=steps)
    [update] = check(e.QuestionAsked(question=question))
    assert [(one["title"], one["payload"], one["isAskedAgain"]) for one in update["steps"]] == [
        ("Edit 1", "+x\n", False),
        ("Edit 5000", "+x\n" * 5_000, True),
    ]


@pytest.mark.parametrize(
    "piece, expected",
    [
        (e.TextStreamed("s", "t"), "agent_message_chunk"),
        (e.ReasoningStreamed("s", "t"), "agent_thought_chunk"),
        (e.AttemptDiscarded("s"), "agent_chunks_discarded"),
        (e.CallOutputStreamed("c", "t"), "tool_call_output"),
    ],
)
def test_what_streams_becomes_a_chunk(piece: e.Ephemeral, expected: str) -> None:
    update: Any = of_ephemeral(piece)
    assert update.session_update == expected


@pytest.mark.parametrize(
    "tool, arguments, expected",
    [
        (
            "run_command",
            '{"command": "make test\\nmake lint", "cwd": "."}',
            "run_command make test\\nmake lint",
        ),
        ("read_file", '{"path": "a.py", "lines": 3}', "read_file a.py"),
        ("grep", '{"path": ".", "pattern": "price"}', "grep price"),
        ("update_plan", '{"items": []}', "update_plan"),
        ("read_file", "{ broken", "read_file"),
        ("grep", '{"pattern": "' + "x" * 200 + '"}', "grep " + "x" * 54 + " … " + "x" * 58),
    ],
)
def test_a_call_is_told_in_one_line(tool: str, arguments: str, expected: str) -> None:
    assert call_title(tool, arguments) == expected
