"""What audited, goal-directed work asks to be tested, each test under the name it asks for.

Most of them play a golden story for real and look at the lines that matter; the story's own test
holds all of it. Those whose stories would have to wait, or would show figures of this machine,
run a turn of their own.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from agent_ls.domain import events as ev
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.edits import CreateFile
from agent_ls.domain.goals import Goal
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.stops import STATUS, StopReason, TurnStatus
from agent_ls.domain.verdicts import Allow, CheckVerdict, Deny, Escalate, Proceed
from agent_ls.loop.evidence.progress import Progress
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.policies.checks.same_error import SameError
from agent_ls.policies.guards.replan import Replan
from agent_ls.tools.read_file import ReadFile
from agent_ls.workspace.disk import DiskWorkspace
from tests.loop.conftest import Stage
from tests.policies.views import call_of, prepared, said, view_of
from tests.support.archive import read_archive
from tests.support.stories import opened_story, tell, write_files
from tests.support.trace import trace_of
from tests.support.turns import run_turn_of

pytestmark = pytest.mark.heavy

STORIES = Path(__file__).parents[1] / "transcripts"
GOAL = Goal.model_validate({"text": "answer.txt holds 42.", "tests": ["grep -q 42 answer.txt"]})
LOOKS = """
[[answer]]
repeat = 0
delay_ms = {delay_ms}
[answer.when]
side = false
[[answer.call]]
tool = "list_dir"
arguments = {{}}
"""


async def check(name: str, tmp_path: Path, stage: Stage, *lines: str) -> list[ev.Event]:
    """Play a story and assert that these lines happen in this order; returns its events."""
    story = read_archive(STORIES / f"{name}.txt")
    folder = tmp_path / "project"
    folder.mkdir()
    write_files(story, folder)
    async with opened_story(story, folder, stage.host, stage.port) as (sessions, _):
        _, events = await tell(story, sessions)
    happened = trace_of(events)
    at = 0
    for line in lines:
        found = happened.find(line, at)
        assert found >= 0, f"{line!r} does not follow in:\n{happened}"
        at = found + len(line)
    return events


# Unit tests


def failed(*texts: str) -> list[ev.Event]:
    """Return one step for each text, whose call failed with it."""
    happened: list[ev.Event] = []
    for number, text in enumerate(texts, 1):
        call = call_of("read_file", json.dumps({"path": f"{number}.py"}), id=f"cal_{number}")
        result = ToolResult(call_id=call.id, text=text, error=ErrorKind.RUNTIME)
        happened += [
            prepared(number),
            said("", call, number=number),
            ev.ToolCallFinished(result=result),
        ]
    return happened


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        (("boom", "boom"), Proceed),
        (("boom", "boom", "boom"), Escalate),
        (("boom", "boom", "bang"), Proceed),
        (("boom", "bang", "boom", "boom"), Proceed),
    ],
)
async def test_loop_detection_three_identical_errors(
    errors: tuple[str, ...], verdict: type[CheckVerdict]
) -> None:
    assert isinstance(await SameError().check(view_of(*failed(*errors))), verdict)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("story", "line"),
    [
        pytest.param("goal_reached_closes_the_turn", "-> close, completed", id="criteria-met"),
        pytest.param("steps_used_up", "-> close, max_steps", id="max-steps"),
        pytest.param("same_error_with_nobody_there", ", loop_detected", id="loop-detected"),
        pytest.param("doubt_without_a_number_stops", ", low_confidence", id="escalation"),
    ],
)
async def test_termination_criteria_all_six_conditions(
    story: str, line: str, tmp_path: Path, stage: Stage
) -> None:
    await check(story, tmp_path, stage, line)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("settings", "stop"),
    [
        pytest.param("policies.wall_clock.limit_s = 1.0", StopReason.TIMEOUT, id="timeout"),
        pytest.param(
            "policies.resources.max_memory_bytes = 1", StopReason.RESOURCE_LIMIT, id="resources"
        ),
    ],
)
async def test_termination_criteria_all_six_conditions_of_time_and_machine(
    settings: str, stop: StopReason, tmp_path: Path, stage: Stage
) -> None:
    scenario = LOOKS.format(delay_ms=600) + '\n[[answer]]\ntext = "So far."\nwhen.side = true\n'
    folder = tmp_path / "project"
    folder.mkdir()
    async with stage.opened(folder, scenario, settings_toml=settings, is_strict=False) as sessions:
        ended, events = await run_turn_of(await sessions.create(), "Look around.", goal=GOAL)
    assert ended.stop is stop
    assert STATUS[stop] is TurnStatus.PARTIAL
    # A watchdog asks for a close; it never cuts off.
    assert "-> close" in trace_of(events)


async def test_retry_with_replanning_verifies_different_approaches(tmp_path: Path) -> None:
    workspace = DiskWorkspace([])
    tool = ReadFile(workspace)
    view = view_of(*failed("boom"))

    async def judged(path: str) -> object:
        call = call_of("read_file", json.dumps({"path": path}), id="cal_9")
        planned = PlannedCall(call, tool, tool.Arguments.model_validate({"path": path}))
        return await Replan(workspace).judge(planned, view)

    assert isinstance(await judged("1.py"), Deny)
    assert isinstance(await judged("2.py"), Allow)


@pytest.mark.asyncio(loop_scope="session")
async def test_state_management_history_tracking(tmp_path: Path, stage: Stage) -> None:
    await check("goal_is_missed", tmp_path, stage)
    with contextlib.closing(sqlite3.connect(tmp_path / "project-store.db")) as store:
        store.row_factory = sqlite3.Row
        (execution,) = store.execute("select * from executions").fetchall()
        steps = store.execute("select * from steps order by step_number").fetchall()
    assert (execution["status"], execution["total_steps"]) == ("partial", 4)
    assert execution["input_tokens"] > 0
    assert json.loads(execution["state_snapshot"])["files"]
    assert [step["step_number"] for step in steps] == [1, 2, 3, 4]
    assert all(step["duration_ms"] >= 0 and step["input_tokens"] > 0 for step in steps)
    written = json.loads(steps[1]["action"])["calls"][0]
    assert written["tool"] == "write_file"
    assert steps[1]["result"] is not None
    assert "verification" in steps[0]["validation"]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("settings", "text", "steps"),
    [
        pytest.param("", "", [5], id="every-five-steps"),
        pytest.param("policies.confidence.every_steps = 3", "", [3, 6], id="as-often-as-set"),
        pytest.param("", "I am not sure how.", [1, 2, 3, 4, 5, 6], id="when-it-says-it-is-unsure"),
        pytest.param("policies.confidence.threshold = 0", "I am not sure.", [], id="never"),
    ],
)
async def test_confidence_evaluation_triggers(
    settings: str, text: str, steps: list[int], tmp_path: Path, stage: Stage
) -> None:
    asked = f'[[answer]]\nrepeat = 0\ntext = "{text}"\n'
    scenario = LOOKS.format(delay_ms=0).replace("[[answer]]\nrepeat = 0\n", asked)
    scenario += '\n[[answer]]\nrepeat = 0\ntext = "0.9"\nwhen.side = true\n'
    # At the limit itself nobody is asked any more.
    limit = "policies.step_limit.max_steps = 7\n"
    folder = tmp_path / "project"
    folder.mkdir()
    async with stage.opened(
        folder, scenario, settings_toml=f"{limit}{settings}", is_strict=False
    ) as sessions:
        _, events = await run_turn_of(await sessions.create(), "", goal=GOAL)
    number, found = 0, list[int]()
    for event in events:
        match event:
            case ev.RequestPrepared():
                number = event.number
            case ev.AdviceGiven(origin="confidence"):
                found.append(number)
            case _:
                pass
    assert found == steps


# Integration tests


@pytest.mark.asyncio(loop_scope="session")
async def test_full_task_execution_with_iterations(tmp_path: Path, stage: Stage) -> None:
    await check(
        "goal_is_proven", tmp_path, stage, "request 1", "request 2",
        "goal checked by verification: met", "ended success, completed",
    )  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
async def test_permission_denial_handling(tmp_path: Path, stage: Stage) -> None:
    await check("nobody_to_ask", tmp_path, stage, " ask by approval", "result ")


@pytest.mark.asyncio(loop_scope="session")
async def test_confidence_gating(tmp_path: Path, stage: Stage) -> None:
    await check(
        "confidence_is_low", tmp_path, stage, "advice for confidence",
        "question confidence", "answered by test: “continue”", "ended success",
    )  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
async def test_loop_detection_to_escalation_flow(tmp_path: Path, stage: Stage) -> None:
    await check(
        "same_error_with_nobody_there", tmp_path, stage,
        "question same_error", "answered by nobody", "ended escalated, loop_detected",
    )  # fmt: skip


CREATED = (
    ev.EditIntended(call_id="c", edit=CreateFile(path="a.py", text="x = 1\n"), before_blob=None),
    ev.EditApplied(call_id="c", path="a.py", status="applied", added_lines=1),
)
TESTED = ev.ToolCallFinished(
    result=ToolResult(call_id="c", text="==== 3 passed, 1 failed in 0.1s ===="),
    effect=Effect.EXECUTE,
)
PLANNED = ev.PlanUpdated(
    items=(PlanItem(text="a", status=PlanStatus.COMPLETED), PlanItem(text="b"))
)


@pytest.mark.parametrize(
    ("happened", "by"),
    [
        pytest.param((PLANNED,), "model", id="the-model-where-there-is-nothing-else"),
        pytest.param((PLANNED, *CREATED), "artifacts", id="artifacts-before-the-model"),
        pytest.param((PLANNED, *CREATED, TESTED), "tests", id="tests-before-artifacts"),
        pytest.param((), "none", id="nothing-yet"),
    ],
)
def test_progress_validation_all_three_methods(happened: tuple[ev.Event, ...], by: str) -> None:
    progress = Progress()
    for event in happened:
        progress = progress.after(event)
    assert progress.by == by
    assert (0 < progress.score < 1) is bool(happened)


# End-to-end tests


@pytest.mark.asyncio(loop_scope="session")
async def test_complete_task_with_multiple_steps(tmp_path: Path, stage: Stage) -> None:
    await check(
        "create_move_delete", tmp_path, stage, "request 1", "request 2",
        "ended success, completed",
    )  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("story", ["retry_must_differ", "retry_of_what_passes_by"])
async def test_recovery_from_failures_with_retry(story: str, tmp_path: Path, stage: Stage) -> None:
    await check(story, tmp_path, stage, "deny by replan", "ended success")


@pytest.mark.asyncio(loop_scope="session")
async def test_loop_detection_to_human_gate(tmp_path: Path, stage: Stage) -> None:
    await check(
        "same_error_asks_the_user", tmp_path, stage, "question same_error",
        "answered by test: “continue”", "question same_error", "answered by test: “stop”",
        "ended escalated, loop_detected",
    )  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
async def test_low_confidence_to_human_gate(tmp_path: Path, stage: Stage) -> None:
    await check(
        "doubt_without_a_number_stops", tmp_path, stage,
        "question confidence", "ended escalated, low_confidence",
    )  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
async def test_tool_permission_denied_to_adaptation(tmp_path: Path, stage: Stage) -> None:
    await check(
        "denials_climb", tmp_path, stage, "Allowed tools", "question", "answered",
    )  # fmt: skip
