"""What an event changes in the derived tables, in the cases the contract's one turn has not."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.calls import Effect, ErrorKind, ToolCall, ToolResult
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.model_io import ModelRole
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.domain.usage import Usage
from agent_ls.store.changes import AbandonCalls, Change, Cursor, Write
from agent_ls.store.projections import project, roots_key
from tests.store.stories import TURN, Journal, noise

IN_STEP = Cursor(turns=1, execution_id="trn_1", step_id="stp_1", step_started_ms=1_000)


def check(cursor: Cursor, event: ev.Event, *expected: Change) -> Cursor:
    """Assert the changes among which the expected values are; return the cursor after."""
    after, changes = project(cursor, Journal().next(event))
    assert len(changes) == len(expected)
    for change, wanted in zip(changes, expected, strict=True):
        if isinstance(wanted, Write):
            assert isinstance(change, Write)
            assert (change.table, change.row) == (wanted.table, wanted.row)
            assert wanted.values.items() <= change.values.items()
            assert wanted.add == change.add
        else:
            assert change == wanted
    return after


_APART = ev.ModeChanged | ev.ModelChanged | ev.GoalChecked | ev.AdviceGiven | ev.ChildEnded


def test_every_kind_of_event_is_projected_or_known_to_change_nothing() -> None:
    told = {type(event) for event in TURN} | {type(noise())}
    quiet = set(get_args(get_args(ev.Event)[0])) - told
    for kind in quiet:
        fields = {name: field for name, field in kind.model_fields.items() if field.is_required()}
        made = kind.model_construct(**dict.fromkeys(fields, ""))
        if isinstance(made, _APART):
            continue  # The contract has the first two, tests below the others.
        check(IN_STEP, made)


def test_a_call_that_runs_before_its_answer_is_complete_gets_its_row() -> None:
    started = ev.ToolCallStarted(call_id="cal_1", tool="read_file", effect=Effect.READ)
    place = {"execution_id": "trn_1", "step_id": "stp_1", "status": "in_progress"}
    after = check(IN_STEP, started, Write("calls", "cal_1", place))
    failed = ToolResult(call_id="cal_1", text="gone", error=ErrorKind.RUNTIME)
    after = check(
        after,
        ev.ToolCallFinished(result=failed),
        Write("calls", "cal_1", {"status": "failed", "error": "runtime"}),
        Write("steps", "stp_1", {"success": False, "error": "runtime: gone"}),
    )
    call = ToolCall(id="cal_1", provider_id="a", tool="read_file", arguments_json="{}")
    check(
        after,
        ev.Answered(step_id="stp_1", message=AssistantMessage(calls=(call,))),
        Write("steps", "stp_1", {"success": False, "error": "runtime: gone"}),
        Write("calls", "cal_1", {"arguments": "{}"}),
        Write("executions", "trn_1", add={"total_calls": 1}),
    )


def test_a_turns_end_marks_the_calls_that_never_got_a_result() -> None:
    event = ev.TurnEnded(
        turn_id="trn_1", stop=StopReason.ERROR, status=TurnStatus.FAILED, output="",
        failure_reason="No key.",
    )  # fmt: skip
    after = check(
        IN_STEP,
        event,
        Write("executions", "trn_1", {"failure_reason": "No key.", "escalation_reason": ""}),
        Write("sessions", "", {"status": "failed"}),
        AbandonCalls("trn_1", 1_010),
    )
    assert after == Cursor(turns=1)


def test_what_was_proven_of_a_goal_is_part_of_the_steps_validation() -> None:
    proofs = (
        Proof(of="pytest", is_met=True, by="command"),
        Proof(of="API kept.", is_met=False, by="model"),
    )
    said = {"goal": "verification", "met": ["pytest"], "failed": ["API kept."]}
    check(
        IN_STEP,
        ev.GoalChecked(origin="verification", proofs=proofs),
        Write("steps", "stp_1", {"validation": [said]}),
    )


def test_what_a_sub_agent_spent_counts_for_the_turn_that_started_it() -> None:
    usage = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)
    spent = usage.model_dump()
    check(
        IN_STEP,
        ev.ChildEnded(
            call_id="cal_1",
            child_id="ses_2",
            kind="explore",
            stop=StopReason.COMPLETED,
            usage=usage,
        ),
        Write("executions", "trn_1", add={**spent, "total_tokens": usage.total_tokens}),
        Write("sessions", "", add=spent),
    )


def test_what_a_side_model_cost_counts_for_the_turn_and_not_as_an_attempt() -> None:
    usage = Usage(input_tokens=90, output_tokens=10, cost_usd=0.5)
    spent = usage.model_dump()
    check(
        IN_STEP,
        ev.AdviceGiven(origin="summarize", role=ModelRole.CHEAP, model="m", usage=usage),
        Write("executions", "trn_1", add={**spent, "total_tokens": usage.total_tokens}),
        Write("sessions", "", add=spent),
    )


@pytest.mark.parametrize(
    "event",
    [
        ev.GateFailed(origin="compile", text="x"),
        ev.FindingsReported(paths=()),
        ev.EditApplied(call_id="cal_1", path="a", status="stale"),
    ],
    ids=lambda event: event.type,
)
def test_outside_of_a_step_nothing_is_said_of_one(event: ev.Event) -> None:
    check(Cursor(), event)


def test_a_result_outside_of_any_turn_still_finishes_its_call() -> None:
    result = ev.ToolCallFinished(result=ToolResult(call_id="cal_1", text="late"))
    check(Cursor(), result, Write("calls", "cal_1", {"status": "completed", "result": "late"}))


def test_a_file_that_was_edited_twice_is_listed_once() -> None:
    cursor = IN_STEP
    for path in ("a.py", "b.py", "a.py"):
        edit = ev.EditApplied(call_id="cal_1", path=path, status="applied", added_lines=1)
        lines = {"added_lines": 1, "removed_lines": 0}
        cursor = check(cursor, edit, Write("calls", "cal_1", add=lines))
    assert cursor.files == ("a.py", "b.py")


def test_long_texts_are_cut() -> None:
    started = ev.TurnStarted(turn_id="trn_1", prompt="word " * 2_000)
    _, changes = project(Cursor(), Journal().next(started))
    session, execution = changes
    assert isinstance(session, Write)
    assert isinstance(execution, Write)
    title, task = session.values["title"], execution.values["task"]
    assert isinstance(title, str)
    assert isinstance(task, str)
    assert (len(title), title[-1]) == (80, "…")
    assert (len(task), task[-1]) == (4_000, "…")


def test_a_cursor_of_another_version_is_read_as_far_as_it_is_known() -> None:
    assert Cursor.model_validate_json('{"turns": 2, "dreams": 1}') == Cursor(turns=2)


@pytest.mark.parametrize(
    ("text", "score"),
    [("0.4", 0.4), (".7", 0.7), ("-0.5", 0.0), ("1. Sure: 0.9", 0.9), ("", 0.0)],
)
def test_a_word_on_confidence_is_kept_with_its_step(text: str, score: float) -> None:
    cursor = check_all(
        ev.RequestPrepared(step_id="stp_5", number=5),
        ev.AdviceGiven(origin="confidence", role=ModelRole.CHEAP, model="m", text=text),
    )
    turn = cursor.turn
    assert (turn.last_confidence_check_step, turn.last_confidence_score) == (5, score)


def test_only_failures_in_a_row_count_as_consecutive() -> None:
    bad = ToolResult(call_id="cal_1", text="no", error=ErrorKind.RUNTIME)
    good = ToolResult(call_id="cal_2", text="yes")
    results = (bad, bad, good, bad)
    turn = check_all(*(ev.ToolCallFinished(result=one) for one in results)).turn
    assert (turn.failure_count, turn.consecutive_failures, turn.tool_executions) == (3, 1, 4)
    assert turn.last_errors == ("runtime: no",) * 3


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
    _, changes = project(IN_STEP, Journal().next(event))
    execution = changes[0]
    assert isinstance(execution, Write)
    found = execution.values["state_snapshot"]
    assert isinstance(found, dict)
    names = ("escalation_triggered", "timeout_reached", "resource_limit_hit")
    assert tuple(found[name] for name in names) == told
    assert found["escalation_reason"] == ("Why." if told[0] else None)


def test_a_goal_is_kept_with_the_turn_it_began() -> None:
    goal = Goal(text="Greet", acceptance=(Criterion(text="friendly"),), constraints=("short",))
    turn = check_all(ev.TurnStarted(turn_id="trn_2", prompt="p", goal=goal)).turn
    assert (turn.goal, turn.acceptance_criteria, turn.constraints) == (
        "Greet", ("friendly",), ("short",),
    )  # fmt: skip
    assert check_all(ev.TurnStarted(turn_id="trn_3", prompt="p")).turn.goal == "p"


def check_all(*events: ev.Event) -> Cursor:
    """Return the cursor after several events."""
    cursor = IN_STEP
    for stored in Journal().all(*events):
        cursor, _ = project(cursor, stored)
    return cursor


def test_the_order_of_roots_does_not_matter() -> None:
    assert roots_key(["b", "a"]) == roots_key(("a", "b")) == '["a","b"]'
