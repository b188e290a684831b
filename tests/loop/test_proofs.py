"""What of a goal is proven now, from what happened in the turn."""

from __future__ import annotations

import pytest

from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.events import (
    EditApplied,
    Event,
    GoalChecked,
    ReviewApplied,
    SessionCreated,
    StoredEvent,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.modes import Mode
from agent_ls.loop.evidence.proofs import unproven
from agent_ls.loop.ports.models import ModelFacts
from agent_ls.loop.state.folding import fold_all
from agent_ls.loop.state.view import TurnView

_GOAL = Goal(text="Fast.", acceptance=(Criterion(text="API kept."),), tests=("pytest -q",))


def check(happened: list[Event], expected: tuple[str, ...], *, goal: Goal | None = _GOAL) -> None:
    """Fold what happened and compare what is still unproven."""
    journal = (
        SessionCreated(session_id="ses_1", roots=(), mode=Mode.ASK, model="m"),
        TurnStarted(turn_id="trn_1", prompt="go", goal=goal),
        *happened,
    )
    state = fold_all(
        StoredEvent(session_id="ses_1", seq=seq, at_ms=seq, event=event)
        for seq, event in enumerate(journal, 1)
    )
    assert state.turn is not None
    view = TurnView(session=state, turn=state.turn, facts=ModelFacts(0, 0), elapsed_s=0)
    assert unproven(view) == expected


def ran(command: str, exit_code: int = 0, *, looks: bool = False) -> list[Event]:
    """Return the events of a command that the model ran; ``pytest -q`` is the goal's."""
    result = ToolResult(call_id=command, text="Exit code.", data={"exit_code": exit_code})
    started = ToolCallStarted(
        call_id=command, tool="run_command", effect=Effect.EXECUTE, reads_only=looks
    )
    proof = Proof(of=command, is_met=exit_code == 0, by="command", exit_code=exit_code)
    checked = GoalChecked(origin="goal_proof", proofs=(proof,), call_id=command)
    finished = ToolCallFinished(result=result, effect=Effect.EXECUTE)
    return [started, *([checked] if command in _GOAL.commands else []), finished]


def judged(*, is_met: bool) -> GoalChecked:
    """Return the model's word on the criterion."""
    return GoalChecked(
        origin="verification", proofs=(Proof(of="API kept.", is_met=is_met, by="model"),)
    )


_EDIT = EditApplied(call_id="cal_9", path="a.py", status="applied")
_UNDONE = ReviewApplied(review_id="rev_1", path="a.py", status="applied")
_REFUSED = EditApplied(call_id="cal_9", path="a.py", status="refused")


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        pytest.param([], ("pytest -q", "API kept."), id="nothing-happened"),
        pytest.param(ran("pytest -q"), ("API kept.",), id="the-test-passed"),
        pytest.param(ran("pytest -q", 1), ("pytest -q", "API kept."), id="the-test-failed"),
        pytest.param([*ran("pytest -q"), judged(is_met=True)], (), id="all-proven"),
        pytest.param([judged(is_met=False), *ran("pytest -q")], ("API kept.",), id="judged-unmet"),
        pytest.param([*ran("pytest -q"), _EDIT], ("pytest -q", "API kept."), id="changed-since"),
        pytest.param([*ran("pytest -q"), _REFUSED], ("API kept.",), id="a-refused-edit-is-none"),
        pytest.param(
            [*ran("pytest -q"), *ran("make")], ("pytest -q", "API kept."), id="another-command-ran"
        ),
        pytest.param([*ran("pytest -q"), _UNDONE], ("pytest -q", "API kept."), id="taken-back"),
        pytest.param(
            [*ran("pytest -q"), *ran("git diff", looks=True)],
            ("API kept.",),
            id="a-command-that-only-looks-takes-nothing-back",
        ),
        pytest.param(
            [judged(is_met=True), *ran("pytest -q")], (), id="its-own-command-takes-nothing-back"
        ),
        pytest.param(
            [*ran("pytest -q"), *ran("pytest -q", 1)],
            ("pytest -q", "API kept."),
            id="newest-counts",
        ),
    ],
)
def test_a_proof_holds_until_something_may_have_changed(
    happened: list[Event], expected: tuple[str, ...]
) -> None:
    check(happened, expected)


def test_an_ordinary_turn_has_nothing_to_prove() -> None:
    check([], (), goal=None)
