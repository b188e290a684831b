"""How near a turn is to its acceptance: tests before artifacts before the model's own word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.edits import ChangeText, CreateFile
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.loop.evidence.progress import Progress

_GOAL = Goal(
    text="Greet", acceptance=(Criterion(text="it is friendly"),), tests=("pytest -q", "ruff check")
)


def begun(goal: Goal | None = None) -> ev.Event:
    return ev.TurnStarted(turn_id="trn_1", prompt="Greet", goal=goal)


def ran(output: str) -> ev.Event:
    return ev.ToolCallFinished(
        result=ToolResult(call_id="cal_1", text=output), effect=Effect.EXECUTE
    )


def edited(path: str, added: int, *, is_new: bool = False) -> list[ev.Event]:
    edit = (
        CreateFile(path=path, text="x")
        if is_new
        else ChangeText(path=path, base_version="v", replacements=())
    )
    return [
        ev.EditIntended(call_id="cal_1", edit=edit, before_blob=None),
        ev.EditApplied(call_id="cal_1", path=path, status="applied", added_lines=added),
    ]


def checked(**met: bool) -> ev.Event:
    named = {"tests": "pytest -q", "lint": "ruff check", "friendly": "it is friendly"}
    proofs = tuple(Proof(of=named[one], is_met=is_met, by="command") for one, is_met in met.items())
    return ev.GoalChecked(origin="verification", proofs=proofs)


def plan(*statuses: PlanStatus) -> ev.Event:
    items = tuple(PlanItem(text=str(number), status=one) for number, one in enumerate(statuses))
    return ev.PlanUpdated(items=items)


def check(events: Sequence[ev.Event], by: str, score: float) -> Progress:
    progress = Progress()
    for event in events:
        progress = progress.after(event)
        assert 0.0 <= progress.score <= 1.0
    assert (progress.by, progress.score) == (by, score)
    # It is kept with the journal.
    assert Progress.model_validate_json(progress.model_dump_json()) == progress
    return progress


@pytest.mark.parametrize(
    ("events", "by", "score"),
    [
        pytest.param([begun()], "none", 0.0, id="nothing-yet"),
        pytest.param([begun(_GOAL)], "tests", 0.0, id="a-goal-nobody-looked-at"),
        pytest.param([begun(_GOAL), checked(tests=True)], "tests", 0.333, id="one-of-three"),
        pytest.param(
            [begun(_GOAL), checked(tests=True, lint=True, friendly=True)], "tests", 1.0, id="all"
        ),
        pytest.param(
            [begun(_GOAL), checked(tests=True, lint=True), checked(tests=False)],
            "tests",
            0.333,
            id="what-broke-again-counts-no-more",
        ),
        pytest.param([begun(), ran("3 passed, 1 failed in 0.1s")], "tests", 0.75, id="pytest"),
        pytest.param([begun(), ran("== 2 failed, 2 passed ==")], "tests", 0.5, id="order"),
        pytest.param(
            [begun(), ran("1 failed in 1s"), ran("4 passed in 1s")], "tests", 1.0, id="newest-run"
        ),
        pytest.param([begun(), ran("  7 passing (2s)\n  1 failing")], "tests", 0.875, id="mocha"),
        pytest.param([begun(), ran("Exit code 0.\nall well")], "none", 0.0, id="no-test-run"),
        pytest.param([begun(), *edited("a.py", 50)], "artifacts", 0.5, id="lines"),
        pytest.param([begun(), *edited("a.py", 0, is_new=True)], "artifacts", 0.5, id="a-file"),
        pytest.param([begun(), *edited("package.json", 50)], "artifacts", 0.75, id="dependency"),
        pytest.param(
            [begun(), *edited("a.py", 50), ran("1 passed, 9 failed")],
            "tests",
            0.1,
            id="tests-before-artifacts",
        ),
        pytest.param(
            [begun(), plan(PlanStatus.COMPLETED, PlanStatus.PENDING)], "model", 0.5, id="plan"
        ),
        pytest.param(
            [begun(), plan(PlanStatus.COMPLETED), *edited("a.py", 50)],
            "artifacts",
            0.5,
            id="artifacts-before-the-plan",
        ),
        pytest.param(
            [begun(), *edited("a.py", 500), ran("1 passed"), begun()], "none", 0.0, id="next-turn"
        ),
    ],
)
def test_progress_goes_by_the_best_evidence(
    events: Sequence[ev.Event], by: str, score: float
) -> None:
    check(events, by, score)


def test_an_edit_that_did_not_happen_is_no_progress() -> None:
    refused = ev.EditApplied(call_id="cal_1", path="a", status="refused", added_lines=9)
    check([begun(), refused], "none", 0.0)


def test_the_numbers_behind_the_score_are_told() -> None:
    output = "TOTAL     120     12    90%\n3 passed, 1 failed in 0.1s"
    progress = check([begun(), *edited("new.py", 5, is_new=True), ran(output)], "tests", 0.75)
    assert progress.metrics == {
        "tests_passed": 3,
        "tests_failed": 1,
        "coverage_percent": 90.0,
        "files_created": 1,
        "lines_written": 5,
    }
