"""What an event changes in the derived tables, in the cases the contract's one turn has not."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.hooks import HookOutcome, HookPoint
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.store.projections import Cursor, Projection, roots_key
from tests.store.stories import Journal

IN_STEP = Cursor(turns=1, execution_id="trn_1", step_id="stp_1", step_started_ms=1_000)
Rows = dict[tuple[str, str], dict[str, Any]]


def check(cursor: Cursor, event: ev.Event, expected: Rows) -> Cursor:
    """Assert which rows change, and the expected ones of their values; return the cursor after."""
    after, found = project(cursor, event)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        assert values.items() <= found[key].items()
    return after


def project(cursor: Cursor, *events: ev.Event) -> tuple[Cursor, Rows]:
    projection = Projection(cursor.model_copy(deep=True))
    for stored in Journal().all(*events):
        projection.take(stored)
    rows = {key: {**row.values, **row.added} for key, row in projection.rows.items()}
    return projection.cursor, {key: values for key, values in rows.items() if values}


def test_a_call_that_fails_before_its_answer_is_complete_is_the_steps_error() -> None:
    failed = ToolResult(call_id="cal_1", text="gone", error=ErrorKind.RUNTIME)
    wrong = {"success": False, "error": "runtime: gone"}
    after = check(IN_STEP, ev.ToolCallFinished(result=failed), {("steps", "stp_1"): wrong})
    call = ToolCall(id="cal_1", provider_id="a", tool="read_file", arguments_json="{}")
    check(
        after,
        ev.Answered(step_id="stp_1", message=AssistantMessage(calls=(call,))),
        {("steps", "stp_1"): wrong, ("executions", "trn_1"): {"total_calls": 1}},
    )


def test_what_a_command_calls_first_has_a_step_of_its_own() -> None:
    call = ToolCall(id="cal_1", provider_id="first_trn_1_0", tool="read_file", arguments_json="{}")
    before = Cursor(turns=1, execution_id="trn_1")
    message = AssistantMessage(calls=(call,))
    after, rows = project(
        before,
        ev.Answered(step_id="stp_0", message=message, origin="command"),
        ev.ToolCallStarted(call_id="cal_1", tool="read_file", effect=Effect.READ),
        ev.ToolCallFinished(result=ToolResult(call_id="cal_1", text="seen")),
    )
    step = {"execution_id": "trn_1", "step_number": 0, "at_ms": 1_010, "success": True}
    assert step.items() <= rows["steps", "stp_0"].items()
    assert 0 <= rows["steps", "stp_0"]["duration_ms"] < 1_000
    begun = ev.RequestPrepared(step_id="stp_1", number=1)
    check(
        after,
        begun,
        {("steps", "stp_1"): {"step_number": 1}, ("executions", "trn_1"): {"total_steps": 1}},
    )


def test_a_turns_end_says_why_and_leaves_nothing_of_it_in_the_cursor() -> None:
    ended = ev.TurnEnded(
        turn_id="trn_1", stop=StopReason.ERROR, status=TurnStatus.FAILED, output="",
        failure_reason="No key.",
    )  # fmt: skip
    after = check(
        IN_STEP.model_copy(update={"files": ["a.py"]}),
        ended,
        {
            ("executions", "trn_1"): {"failure_reason": "No key.", "escalation_reason": ""},
            ("sessions", ""): {"status": "failed"},
        },
    )
    assert after == Cursor(turns=1)


def test_what_was_proven_of_a_goal_is_part_of_the_steps_validation() -> None:
    proofs = (
        Proof(of="pytest", is_met=True, by="command"),
        Proof(of="API kept.", is_met=False, by="model"),
    )
    said = {"goal": "verification", "met": ["pytest"], "failed": ["API kept."]}
    event = ev.GoalChecked(origin="verification", proofs=proofs)
    check(IN_STEP, event, {("steps", "stp_1"): {"validation": [said]}})


def test_exit_codes_checkers_and_judgements_are_a_steps_validation() -> None:
    def result(call_id: str, **data: Any) -> ev.ToolCallFinished:
        return ev.ToolCallFinished(result=ToolResult(call_id=call_id, text="x", data=data))

    proofs = (
        Proof(of="pytest", is_met=False, by="command", exit_code=2, evidence="1 failed"),
        Proof(of="API kept.", is_met=True, by="model", evidence="The diff adds no name."),
    )
    after, rows = project(
        IN_STEP,
        ev.ToolCallStarted(
            call_id="a", tool="run_command", effect=Effect.EXECUTE,
            arguments_json='{"command": "make"}',
        ),
        result("a", exit_code=3),
        result("b", checkers=["ruff"], new_findings=0),
        result("c", exit_code=None, simulated=True),
        ev.HookRan(point=HookPoint.POST_EDIT, name="lint", outcome=HookOutcome.BLOCKED, text="E1"),
        ev.HookRan(point=HookPoint.STOP, name="other", outcome=HookOutcome.PASSED),
        ev.AdviceGiven(origin="confidence", model="m", text="About 40%."),
        ev.AdviceGiven(
            origin="self_evaluation", model="m", text='{"completed": true, "confidence": "9/10"}'
        ),
        ev.AdviceGiven(
            origin="self_evaluation", model="m", text='{"completed": false, "confidence": 95%}'
        ),
        ev.AdviceGiven(origin="summarize", model="m", text="95%"),
        ev.AdviceGiven(origin="confidence", model="m", failure="timeout"),
        ev.GoalChecked(origin="verification", proofs=proofs),
    )  # fmt: skip
    assert rows["steps", "stp_1"]["validation"] == [
        {"command": "make", "exit_code": 3, "outcome": "exit code 3"},
        {"checkers": ["ruff"], "new_findings": 0},
        {"hook": "lint", "outcome": "found something", "text": "E1"},
        {"judge": "confidence", "score": 0.4, "text": "About 40%."},
        {"judge": "self_evaluation", "score": 0.9,
         "text": '{"completed": true, "confidence": "9/10"}'},
        {"judge": "self_evaluation", "score": 0.0, "completed": False,
         "text": '{"completed": false, "confidence": 95%}'},
        {"goal": "verification", "met": ["API kept."], "failed": ["pytest"],
         "exit_codes": {"pytest": 2}, "reasons": {"API kept.": "The diff adds no name."}},
    ]  # fmt: skip
    assert after.commands == {}
    begun = ev.RequestPrepared(step_id="stp_2", number=2)
    check(after, begun, {("steps", "stp_2"): {"validation": []}, ("executions", "trn_1"): {}})


@pytest.mark.parametrize("word", ["skipped", "queued", "simulated"])
def test_a_call_that_did_not_run_is_not_counted(word: str) -> None:
    finished = ev.ToolCallFinished(result=ToolResult(call_id="cal_1", text="x", data={word: True}))
    after, _ = project(IN_STEP, finished)
    assert after.turn.tool_executions == 0


SPENT = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)


@pytest.mark.parametrize(
    "event",
    [
        ev.AdviceGiven(origin="summarize", model="m", usage=SPENT),
        ev.ChildEnded(
            call_id="cal_1",
            child_id="ses_2",
            kind="explore",
            stop=StopReason.COMPLETED,
            usage=SPENT,
        ),
    ],
    ids=lambda event: event.type,
)
def test_what_others_spent_counts_for_the_turn_and_not_as_an_attempt(event: ev.Event) -> None:
    spent = SPENT.model_dump()
    check(
        IN_STEP,
        event,
        {("executions", "trn_1"): {**spent, "total_tokens": 100}, ("sessions", ""): spent},
    )


@pytest.mark.parametrize(
    "event",
    [
        ev.ToolCallFinished(result=ToolResult(call_id="cal_1", text="late")),
        ev.GateFailed(origin="compile", text="x"),
        ev.FindingsReported(paths=()),
        ev.EditApplied(call_id="cal_1", path="a", status="stale"),
    ],
    ids=lambda event: event.type,
)
def test_outside_of_a_step_nothing_is_said_of_one(event: ev.Event) -> None:
    check(Cursor(), event, {})


def test_a_file_that_was_edited_twice_is_listed_once() -> None:
    edits = [
        ev.EditApplied(call_id="cal_1", path=path, status="applied", added_lines=1)
        for path in ("a.py", "b.py", "a.py")
    ]
    cursor, _ = project(IN_STEP, *edits)
    assert cursor.files == ["a.py", "b.py"]


def test_long_texts_are_cut() -> None:
    started = ev.TurnStarted(turn_id="trn_1", prompt="word " * 2_000)
    _, rows = project(Cursor(), started)
    title, task = rows["sessions", ""]["title"], rows["executions", "trn_1"]["task"]
    assert (len(title), title[-1]) == (80, "…")
    assert (len(task), task[-1]) == (4_000, "…")


def test_a_sessions_title_is_the_first_paragraph_on_one_line() -> None:
    prompt = "\nset the\ntax\n\nThis instruction stands in a comment in shop.py, line 3."
    _, rows = project(Cursor(), ev.TurnStarted(turn_id="trn_1", prompt=prompt))
    assert rows["sessions", ""]["title"] == "set the tax"


def test_a_cursor_of_another_version_is_read_as_far_as_it_is_known() -> None:
    assert Cursor.model_validate_json('{"turns": 2, "dreams": 1}') == Cursor(turns=2)


@pytest.mark.parametrize(
    ("text", "score"),
    [("0.4", 0.4), (".7", 0.7), ("-0.5", 0.0), ("1. Sure: 0.9", 0.9), ("", 0.0)],
)
def test_a_word_on_confidence_is_kept_with_its_step(text: str, score: float) -> None:
    cursor, _ = project(
        IN_STEP,
        ev.RequestPrepared(step_id="stp_5", number=5),
        ev.AdviceGiven(origin="confidence", model="m", text=text),
    )
    turn = cursor.turn
    assert (turn.last_confidence_check_step, turn.last_confidence_score) == (5, score)


def test_only_failures_in_a_row_count_as_consecutive() -> None:
    bad = ToolResult(call_id="cal_1", text="no", error=ErrorKind.RUNTIME)
    good = ToolResult(call_id="cal_2", text="yes")
    results = (bad, bad, good, bad)
    cursor, _ = project(IN_STEP, *(ev.ToolCallFinished(result=one) for one in results))
    turn = cursor.turn
    assert (turn.failure_count, turn.consecutive_failures, turn.tool_executions) == (3, 1, 4)
    assert turn.last_errors == ["runtime: no"] * 3


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        (StopReason.TIMEOUT, (False, True, False)),
        (StopReason.RESOURCE_LIMIT, (False, False, True)),
        (StopReason.BUDGET_LIMIT, (False, False, True)),
        (StopReason.LOW_CONFIDENCE, (True, False, False)),
        (StopReason.COMPLETED, (False, False, False)),
    ],
)
def test_the_snapshot_says_why_it_ended(stop: StopReason, told: tuple[bool, ...]) -> None:
    event = ev.TurnEnded(
        turn_id="trn_1", stop=stop, status=STATUS[stop], output="", failure_reason="Why."
    )
    _, rows = project(IN_STEP, event)
    found = rows["executions", "trn_1"]["state_snapshot"]
    names = ("escalation_triggered", "timeout_reached", "resource_limit_hit")
    assert tuple(found[name] for name in names) == told
    assert found["escalation_reason"] == ("Why." if told[0] else None)


def test_a_goal_is_kept_with_the_turn_it_began() -> None:
    goal = Goal(text="Greet", acceptance=(Criterion(text="friendly"),), constraints=("short",))
    cursor, _ = project(IN_STEP, ev.TurnStarted(turn_id="trn_2", prompt="p", goal=goal))
    turn = cursor.turn
    assert (turn.goal, turn.acceptance_criteria, turn.constraints) == (
        "Greet", ["friendly"], ["short"],
    )  # fmt: skip
    cursor, _ = project(IN_STEP, ev.TurnStarted(turn_id="trn_3", prompt="p"))
    assert cursor.turn.goal == "p"


def test_the_order_of_roots_does_not_matter() -> None:
    assert roots_key(["b", "a"]) == roots_key(("a", "b")) == '["a","b"]'
