"""Verification of a goal by its commands, and what an evaluation means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_ls.assembly import SystemClock
from agent_ls.domain.calls import Effect, ToolResult
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.events import (
    Event,
    GoalChecked,
    GoalCommandStarted,
    PlanUpdated,
    PolicySilenced,
    PromptQueued,
    SessionCreated,
    SessionResumed,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Nudge, Pass
from agent_ls.edits.diff import diff_to_read
from agent_ls.loop.evidence.work_report import work_report
from agent_ls.loop.ports.store import Store
from agent_ls.loop.state.recorder import Recorder
from agent_ls.policies.gates.open_tasks import OpenTasks
from agent_ls.policies.gates.self_evaluation import (
    Evaluation,
    SelfEvaluation,
    SelfEvaluationOptions,
    evaluation_in,
)
from agent_ls.policies.gates.verification import Verification, VerificationOptions
from agent_ls.session.goal_commands import RecordedGoalCommands
from agent_ls.workspace.disk import DiskWorkspace
from agent_ls.workspace.runner import ShellRunner
from tests.policies.happened import Happened
from tests.policies.views import view_of


class NoAdviser:
    """A side model that cannot be reached."""

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        raise ProviderError(ProviderFailure.CONNECTION, "Nobody is there.")


SECRET = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
_NOTE_CHARS = 200


async def check(
    workspace: DiskWorkspace,
    store: Store,
    goal: Goal | None,
    *happened: Event,
    proofs: tuple[tuple[str, bool], ...],
    says: tuple[str, ...] = (),
    mode: Mode = Mode.ASK,
    options: VerificationOptions | None = None,
) -> None:
    """Judge an answer of a turn with this goal; without ``says`` it must pass."""
    recorder = Recorder("ses_2", store, SystemClock())
    await recorder.emit(SessionCreated(session_id="ses_2", roots=(), mode=mode, model="acme/large"))
    commands = RecordedGoalCommands(recorder, ShellRunner(), workspace)
    policy = Verification(workspace, commands, store, NoAdviser(), options or VerificationOptions())
    begun = TurnStarted(turn_id="trn_1", prompt="go", goal=goal)
    view = view_of(begun, *happened, mode=mode)
    verdict = await policy.judge(AssistantMessage(text="Done."), view)
    assert type(verdict) is (Nudge if says else Pass)
    assert isinstance(verdict, Nudge | Pass)
    assert tuple((one.of, one.is_met) for one in verdict.proofs) == proofs
    for one in verdict.proofs:
        assert len(one.evidence) <= policy.options.max_output_chars + _NOTE_CHARS
        assert SECRET not in one.evidence
        assert "\x1b" not in one.evidence
    for piece in says:
        assert isinstance(verdict, Nudge)
        assert piece in verdict.text


GOOD, BAD = "echo all good", "echo it broke; exit 3"
_JUDGED = Goal(text="x", acceptance=(Criterion(text="Nice."),))


def goal_of(*commands: str) -> Goal:
    return Goal(text="x", tests=commands)


def proven(of: str, *, is_met: bool = True) -> GoalChecked:
    return GoalChecked(origin="x", proofs=(Proof(of=of, is_met=is_met, by="command"),))


ROWS = {
    "an-ordinary-turn": (None, (), (), ()),
    "a-test-that-passes": (goal_of(GOOD), (), ((GOOD, True),), ()),
    "a-test-that-fails": (goal_of(BAD), (), ((BAD, False),), (f"`{BAD}` fails:\nit broke",)),
    "a-criterion-with-a-command": (
        Goal(text="x", acceptance=(Criterion(text="Good.", command=BAD),)),
        (),
        ((BAD, False),),
        ("it broke",),
    ),
    "proven-already": (goal_of(BAD), (proven(BAD),), (), ()),
    "silenced": (goal_of(BAD), (PolicySilenced(origin="verification"),), (), ()),
    "asked-to-wait": (
        goal_of(BAD),
        (PromptQueued(text="Stop here, and wait for me.", kind="steer"),),
        (),
        (),
    ),
    "a-judge-who-is-not-there-proves-nothing": (_JUDGED, (), (), ()),
}


@pytest.mark.parametrize("goal, happened, proofs, says", ROWS.values(), ids=ROWS)
async def test_a_goal_is_verified_by_what_it_names(
    goal, happened, proofs, says, workspace: DiskWorkspace, store: Store
) -> None:
    await check(workspace, store, goal, *happened, proofs=proofs, says=says)


async def test_in_plan_mode_nothing_is_run(workspace: DiskWorkspace, store: Store) -> None:
    await check(workspace, store, goal_of(BAD), proofs=(), mode=Mode.PLAN)


async def test_a_test_that_takes_too_long_has_failed(
    workspace: DiskWorkspace, store: Store
) -> None:
    slow = "echo begun; exec sleep 600"
    options = VerificationOptions(timeout_s=0.3)
    await check(
        workspace,
        store,
        goal_of(slow),
        proofs=((slow, False),),
        says=("begun", "killed after 0.3 s"),
        options=options,
    )


LOUD = (
    "python3 -c \"print('first'); print('x' * 50000); "
    f"print('\\033[31mred\\033[0m key=' + '{SECRET[:9]}' + '{SECRET[9:]}')\"; exit 1"
)
STARTED = GoalCommandStarted(command=GOOD)
PROCESS_DIED = SessionResumed()


async def test_output_is_cleaned_masked_and_cut(workspace: DiskWorkspace, store: Store) -> None:
    await check(workspace, store, goal_of(LOUD), proofs=((LOUD, False),), says=("red key=",))


async def test_what_destroys_a_system_never_runs(workspace: DiskWorkspace, store: Store) -> None:
    proofs = (("rm -rf /", False),)
    await check(workspace, store, goal_of("rm -rf /"), proofs=proofs, says=("never run",))


@pytest.mark.parametrize(
    ("happened", "says"),
    [
        pytest.param((STARTED, PROCESS_DIED), ("its outcome is unknown",), id="while-it-ran"),
        pytest.param((STARTED, proven(BAD), PROCESS_DIED), (), id="after-it-ran"),
        pytest.param((STARTED, PROCESS_DIED, proven(BAD)), (), id="once-that-was-told"),
        pytest.param((PROCESS_DIED,), (), id="before-it-ran"),
    ],
)
async def test_a_command_is_not_repeated_by_itself_after_a_crash(
    happened: tuple[Event, ...], says: tuple[str, ...], workspace: DiskWorkspace, store: Store
) -> None:
    proofs = ((GOOD, not says),)
    await check(workspace, store, goal_of(GOOD), *happened, proofs=proofs, says=says)


async def test_tests_run_in_the_folder(root: Path, workspace: DiskWorkspace, store: Store) -> None:
    (root / "here.txt").write_text("x")
    await check(workspace, store, goal_of("test -f here.txt"), proofs=(("test -f here.txt", True),))


def test_caps_and_stop_reasons_are_those_of_the_result_table(
    workspace: DiskWorkspace, store: Store
) -> None:
    assert (Verification.stop, SelfEvaluation.stop) == (StopReason.UNVERIFIED,) * 2
    commands = RecordedGoalCommands(Recorder("", store, SystemClock()), ShellRunner(), workspace)
    assert Verification(workspace, commands, store, NoAdviser()).cap == 2
    caps = {
        level: SelfEvaluation(workspace, store, NoAdviser(), SelfEvaluationOptions(level=level)).cap
        for level in ("off", "basic", "full")
    }
    assert caps == {"off": 0, "basic": 0, "full": 2}


@pytest.mark.parametrize(
    "text, expected, passes",
    [
        (
            '{"completed": true, "confidence": 0.8, "issues": [], "suggestion": ""}',
            Evaluation(True, 0.8, (), ""),
            True,
        ),
        ('{"completed": true, "confidence": 0.79}', Evaluation(True, 0.79, (), ""), False),
        ('{"completed": "yes", "confidence": 1}', Evaluation(False, 1.0, (), ""), False),
        (
            '```json\n{"completed": false, "confidence": 2, "issues": ["a"], "suggestion": "b"}```',
            Evaluation(False, 0.2, ("a",), "b"),
            False,
        ),
        ('{"completed": true, "confidence": "95%"}', Evaluation(True, 0.95, (), ""), True),
        ('{"completed": true, "confidence": "9/10"}', Evaluation(True, 0.9, (), ""), True),
        ('{"completed": true, "confidence": 95}', Evaluation(True, 0.95, (), ""), True),
        ('{"completed": true, "confidence": "high"}', Evaluation(True, 0.8, (), ""), True),
        (
            '{"completed": true, "confidence": "85 out of 100"}',
            Evaluation(True, 0.85, (), ""),
            True,
        ),
        ('{"completed": true, "confidence": "not 90 %"}', Evaluation(True, 0.0, (), ""), False),
        (
            '{"completed": true, "confidence": 95%, "issues": ["a"]}',
            Evaluation(True, 0.95, ("a",), ""),
            True,
        ),
        (
            '{"issues": [], "completed": true, "confidence": 9/10}',
            Evaluation(True, 0.9, (), ""),
            True,
        ),
        (
            '{"completed": true, "confidence": 0,95, "issues": []}',
            Evaluation(True, 0.95, (), ""),
            True,
        ),
        ("Fine!", Evaluation(False, 0.0, ("The evaluation could not be read.",), ""), False),
    ],
)
def test_an_evaluation_is_read_and_what_cannot_be_read_has_failed(
    text: str, expected: Evaluation, passes: bool
) -> None:
    assert evaluation_in(text) == expected
    assert expected.passes(0.8) == passes


async def test_a_judge_is_shown_task_plan_commands_changes_and_answer(happened: Happened) -> None:
    await happened.write("a.py", "x = 2\n")
    await happened.write("big.txt", "y" * 1_100_000)
    await happened.delete("b.py")
    ran = json.dumps({"command": "pytest -q"})
    view = view_of(
        *happened.events,
        ToolCallStarted(call_id="r", tool="run_command", effect=Effect.EXECUTE, arguments_json=ran),
        ToolCallFinished(result=ToolResult(call_id="r", text="", data={"exit_code": 1})),
        ToolCallStarted(call_id="s", tool="x", effect=Effect.EXECUTE, arguments_json="[1]"),
        ToolCallFinished(result=ToolResult(call_id="s", text="", data={"exit_code": 0})),
        PlanUpdated(items=(PlanItem(text="Test it"),)),
        PromptQueued(text="Mind the tabs.", kind="steer"),
        prompt="p" * 5_000,
    )
    report = await work_report(view, "Done.", happened.workspace, happened.store, diff_to_read)
    for piece in (
        "# Task\nppp",
        "… (cut)",
        "- Test it (pending)",
        "- pytest -q: exit code 1\n- : exit code 0",
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2",
        "big.txt (too large to show)",
        "-x = 1\n",
        "# Answer\nDone.",
    ):
        assert piece in report, piece
    assert "No file was changed." in await work_report(
        view_of(), "", happened.workspace, happened.store, diff_to_read
    )


@pytest.mark.parametrize("level", ["off", "basic", "full"])
async def test_without_a_side_model_the_work_passes(
    level, workspace: DiskWorkspace, store: Store
) -> None:
    policy = SelfEvaluation(workspace, store, NoAdviser(), SelfEvaluationOptions(level=level))
    assert await policy.judge(AssistantMessage(text="Done."), view_of()) == Pass()


async def test_open_items_are_in_order_when_the_user_asked_to_wait() -> None:
    plan = PlanUpdated(items=(PlanItem(text="Second thing"),))
    answer = AssistantMessage(text="The first thing is done.")
    verdict = await OpenTasks().judge(answer, view_of(plan, prompt="Do both things."))
    assert isinstance(verdict, Nudge)
    waits = view_of(plan, prompt="Do the first thing, then wait for me.")
    assert await OpenTasks().judge(answer, waits) == Pass()
