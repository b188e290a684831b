"""Going round in circles: which repetitions are told, refused, asked about, or end the turn."""

from __future__ import annotations

import json

import pytest

from agent_ls.domain.approvals import ApprovalAnswer, ApprovalChoice, Question, QuestionAnswer
from agent_ls.domain.calls import Effect, ErrorKind, ToolResult
from agent_ls.domain.events import (
    AdvisoryRaised,
    ApprovalResolved,
    EditApplied,
    Event,
    PlanUpdated,
    PolicySilenced,
    PromptQueued,
    QuestionAsked,
    QuestionResolved,
    RequestPrepared,
    ToolCallFinished,
    WrapUpRequested,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.plans import PlanItem, PlanStatus
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import Allow, CloseOut, Deny, Escalate, Nudge, Pass, Proceed, TextOnly
from agent_ls.loop.evidence.fingerprints import error_signature, fingerprint
from agent_ls.loop.extension_points import Check, Gate, PlannedCall
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.checks.exploration import Exploration
from agent_ls.policies.checks.failure_circuit import FailureCircuit, FailureCircuitOptions
from agent_ls.policies.checks.repetition import Repetition
from agent_ls.policies.checks.same_error import SameError, SameErrorOptions
from agent_ls.policies.checks.wrap_up import WrapUp
from agent_ls.policies.gates.text_only import TextOnlyAnswer
from agent_ls.policies.guards.repeated_call import RepeatedCall, RepeatedCallOptions
from agent_ls.tools.update_plan import UpdatePlan
from tests.policies.views import Expected, call_of, prepared, said, view_of

GOES_ON = Expected(Proceed)
APPLIED = EditApplied(call_id="cal_e", path="a.py", status="applied")


async def check(policy: Check | RepeatedCall | Gate, view: TurnView, expected: Expected) -> None:
    """Assert what the policy says of the view, and that asking twice changes nothing."""
    verdict = await _verdict(policy, view)
    expected.hold(verdict)
    assert await _verdict(policy, view) == verdict


async def _verdict(policy: Check | RepeatedCall | Gate, view: TurnView) -> object:
    answer = view.turn.answer
    assert answer is not None or not isinstance(policy, RepeatedCall | TextOnlyAnswer)
    if isinstance(policy, RepeatedCall):
        assert answer is not None
        tool = UpdatePlan()
        planned = PlannedCall(answer.calls[-1], tool, tool.Arguments(items=[{"text": "x"}]))
        return await policy.judge(planned, view)
    if isinstance(policy, TextOnlyAnswer):
        assert answer is not None
        return await policy.judge(answer, view)
    return await policy.check(view)


class Told:
    """Writes steps down; calls are numbered over the whole turn."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._count = 0

    def step(
        self,
        tool: str = "read_file",
        *,
        error: ErrorKind | None = None,
        text: str = "ok",
        effect: Effect = Effect.READ,
        version: str = "",
        **arguments: object,
    ) -> Told:
        """Add one step with one call and its result."""
        self._count += 1
        id = f"cal_{self._count}"
        call = call_of(tool, json.dumps(arguments), id=id)
        data = {"path": str(arguments["path"]), "version": version} if version else None
        result = ToolResult(call_id=id, text=text, error=error, data=data)
        self.events += [
            prepared(self._count),
            said("", call, number=self._count),
            ToolCallFinished(result=result, effect=effect),
        ]
        return self

    def steps(self, count: int, tool: str = "read_file", **how: object) -> Told:
        for _ in range(count):
            self.step(tool, **how)  # type: ignore[arg-type]
        return self

    def then(self, *events: Event) -> Told:
        self.events += events
        return self


def reads(count: int, path: str = "a.py") -> Told:
    return Told().steps(count, path=path)


def answered(origin: str, text: str = "continue") -> tuple[Event, Event]:
    question = Question(id=f"qst_{origin}", turn_id="trn_1", origin=origin, text="Go on?")
    answer = QuestionAnswer(text=text, by="test")
    return QuestionAsked(question=question), QuestionResolved(
        question_id=question.id, answer=answer
    )


def told_as(view: TurnView, verdict: object) -> Event:
    assert isinstance(verdict, Nudge)
    return AdvisoryRaised(origin="repetition", text=verdict.text, priority=1)


TWICE = Expected(Nudge, says=("3 times", "nothing changed"))
WARNED = Expected(Nudge, says=("Warning", "4 times"))
REPETITION = {
    "twice-the-same-is-nothing": (reads(2), GOES_ON),
    "the-third-identical-read-is-nudged": (reads(3), TWICE),
    "the-fourth-is-a-warning": (reads(4), WARNED),
    "then-the-guard-speaks": (reads(6), GOES_ON),
    "what-is-older-than-the-window-is-forgotten": (
        reads(2).steps(9, path="b.py").step(path="a.py"),
        GOES_ON,
    ),
    "something-else-now-is-no-repetition": (reads(3).step(path="b.py"), GOES_ON),
    "an-edit-in-between": (reads(2).then(APPLIED).step(path="a.py"), GOES_ON),
    "the-users-words-in-between": (
        reads(2).then(PromptQueued(text="Look again.", kind="steer")).step(path="a.py"),
        GOES_ON,
    ),
    "a-new-command-in-between": (
        reads(2).step("run_command", command="make", effect=Effect.EXECUTE).step(path="a.py"),
        GOES_ON,
    ),
    "an-error-that-passes-by-itself": (
        reads(2).step(path="a.py", error=ErrorKind.TIMEOUT).step(path="a.py"),
        GOES_ON,
    ),
    "unless-it-is-silenced": (reads(3).then(PolicySilenced(origin="repetition")), GOES_ON),
}


@pytest.mark.parametrize("told, expected", REPETITION.values(), ids=REPETITION)
async def test_a_call_made_again_and_again_is_told(told: Told, expected) -> None:
    await check(Repetition(), view_of(*told.events), expected)


async def test_each_repetition_is_told_once() -> None:
    told = reads(3)
    verdict = await Repetition().check(view_of(*told.events))
    told.then(told_as(view_of(*told.events), verdict))
    await check(Repetition(), view_of(*told.events), GOES_ON)
    await check(Repetition(), view_of(*told.step(path="a.py").events), WARNED)


async def test_after_a_change_the_same_repetition_is_told_anew() -> None:
    told = reads(3)
    verdict = await Repetition().check(view_of(*told.events))
    told.then(told_as(view_of(*told.events), verdict), APPLIED).steps(3, path="a.py")
    await check(Repetition(), view_of(*told.events), TWICE)


REFUSED = Expected(Deny, says=("5 times", "not carried out"))
GUARD = {
    "the-fifth-runs": (reads(5), {}, Expected(Allow)),
    "the-sixth-is-refused": (reads(6), {}, REFUSED),
    "unless-that-is-switched-off": (reads(6), {"refuse_at": 0}, Expected(Allow)),
    "not-after-an-edit": (reads(5).then(APPLIED).step(path="a.py"), {}, Expected(Allow)),
}


@pytest.mark.parametrize("told, options, expected", GUARD.values(), ids=GUARD)
async def test_from_the_sixth_time_the_call_is_refused(told: Told, options, expected) -> None:
    await check(RepeatedCall(RepeatedCallOptions(**options)), view_of(*told.events), expected)


async def test_a_call_that_streams_counts_before_its_answer_is_there() -> None:
    view = view_of(*reads(5).events)
    tool = UpdatePlan()
    coming = call_of("read_file", '{"path": "a.py"}', id="cal_new")
    planned = PlannedCall(coming, tool, tool.Arguments(items=[{"text": "x"}]))
    REFUSED.hold(await RepeatedCall().judge(planned, view))


SAME = {
    "path": ("read_file", '{"path": "a"}', "read_file", '{ "path": "./a" }', True),
    "white-space-in-commands": (
        "run_command",
        '{"command": "make  test"}',
        "run_command",
        '{"command": "make test"}',
        True,
    ),
    "null-is-nothing": ("t", '{"a": 1, "b": null}', "t", '{"a": 1}', True),
    "another-tool": ("t", '{"a": 1}', "u", '{"a": 1}', False),
    "broken-json-by-its-words": ("t", '{"a": ', "t", ' {"a":  ', True),
}


@pytest.mark.parametrize("tool, arguments, other_tool, other, same", SAME.values(), ids=SAME)
def test_calls_are_the_same_however_they_are_written(
    tool, arguments, other_tool, other, same
) -> None:
    prints = fingerprint(tool, arguments), fingerprint(other_tool, other)
    assert (prints[0] == prints[1]) is same


SIGNATURES = [
    pytest.param("There is no tool 'a'. The tools are: x.", ErrorKind.STRUCTURAL, "unknown tool"),
    pytest.param("a.py does not exist.", ErrorKind.RUNTIME, "not_found: t"),
    pytest.param("rm: x: Permission denied", ErrorKind.RUNTIME, "permission"),
    pytest.param("curl: connection refused", ErrorKind.RUNTIME, "network"),
    pytest.param("It timed out.", ErrorKind.RUNTIME, "timeout"),
    pytest.param("anything", ErrorKind.TIMEOUT, "timeout"),
    pytest.param("no", ErrorKind.DENIED, "permission: t"),
    pytest.param("Line 12: 'x' is odd.", ErrorKind.RUNTIME, "t runtime: line 0: '…' is odd."),
]


@pytest.mark.parametrize("text, error, signature", SIGNATURES)
def test_errors_are_compared_by_class_or_by_words(text, error, signature) -> None:
    assert error_signature("t", error, text) == signature


def missing(*names: str) -> Told:
    told = Told()
    for name in names:
        told.step(path=name, error=ErrorKind.RUNTIME, text=f"{name} does not exist.")
    return told


def side_by_side(*calls: tuple[str, ErrorKind | None, str, object]) -> list[Event]:
    """Return one step with several calls: path, error, text, facts of each."""
    made = [
        call_of("read_file", json.dumps({"path": path}), id=f"cal_{path}") for path, *_ in calls
    ]
    results = [
        ToolCallFinished(
            result=ToolResult.model_validate(
                {"call_id": f"cal_{path}", "text": text, "error": error, "data": data}
            )
        )
        for path, error, text, data in calls
    ]
    return [prepared(), said("", *made), *results]


def beside_missing(*others: tuple[str, object]) -> Told:
    """Return a step for each other call, which reads well beside the same missing file."""
    told = Told()
    for text, data in others:
        gone = ("gone.py", ErrorKind.RUNTIME, "gone.py does not exist.", None)
        told.then(*side_by_side(gone, (text, None, text, data)))
    return told


def refused(told: Told, path: str, times: int) -> Told:
    """Add steps whose call a guard, or nobody, refused."""
    return told.steps(times, path=path, error=ErrorKind.DENIED, text="This was not run.")


ASKED = Expected(Escalate, StopReason.LOOP_DETECTED)
SAME_ERROR = {
    "the-third-step-asks-the-user": (missing("a", "a", "a"), {}, ASKED),
    "other-paths-are-other-errors": (missing("a", "b", "c"), {}, GOES_ON),
    "also-where-the-names-differ-by-a-number": (
        Told()
        .step(path="v1.py", error=ErrorKind.RUNTIME, text="v1.py is no text.")
        .step(path="v2.py", error=ErrorKind.RUNTIME, text="v2.py is no text.")
        .step(path="v3.py", error=ErrorKind.RUNTIME, text="v3.py is no text."),
        {},
        GOES_ON,
    ),
    "a-tool-that-is-not-there": (
        Told().steps(3, "Read", file_path="a", error=ErrorKind.STRUCTURAL, text="no such tool"),
        {},
        ASKED,
    ),
    "a-refused-retry-is-the-same-failure": (refused(missing("a"), "a", 2), {}, ASKED),
    "other-refusals-are-the-denial-ladders-matter": (refused(Told(), "a", 3), {}, GOES_ON),
    "new-files-beside-it-are-progress": (
        beside_missing(*((f"{one}.py", {"path": f"{one}.py", "version": "1"}) for one in "abcd")),
        {},
        GOES_ON,
    ),
    "an-edit": (missing("a", "a").then(APPLIED, *missing("a").events), {}, GOES_ON),
    "the-users-words": (
        missing("a", "a", "a").then(PromptQueued(text="Try b.", kind="steer")),
        {},
        GOES_ON,
    ),
    "a-good-step-breaks-the-row": (missing("a", "a").step(path="z"), {}, GOES_ON),
    "another-error-breaks-the-row": (
        missing("a", "a").step("grep", pattern="(", error=ErrorKind.RUNTIME, text="bad pattern"),
        {},
        GOES_ON,
    ),
    "after-continue-it-counts-anew": (
        missing("a", "a", "a").then(*answered("same_error")),
        {},
        GOES_ON,
    ),
    "it-can-be-switched-off": (missing("a", "a", "a"), {"max_repeats": 0}, GOES_ON),
    "what-was-cancelled-is-not-the-models-error": (
        Told().steps(3, path="a", error=ErrorKind.CANCELLED, text="x"),
        {},
        GOES_ON,
    ),
}


@pytest.mark.parametrize("told, options, expected", SAME_ERROR.values(), ids=SAME_ERROR)
async def test_the_same_error_step_after_step_asks_the_user(told: Told, options, expected) -> None:
    await check(SameError(SameErrorOptions(**options)), view_of(*told.events), expected)


def failures(count: int) -> Told:
    told = Told()
    for number in range(count):
        told.step("grep", pattern=f"{number}", error=ErrorKind.RUNTIME, text=f"odd {number}")
    return told


OPEN = Expected(TextOnly, says=("last 5 tool calls",))
THOUGHT = RequestPrepared(step_id="stp_t", number=9, text_only=True)
CIRCUIT = {
    "five-take-the-tools-away": (failures(5), {}, OPEN),
    "a-good-call-sets-it-back": (failures(4).step(path="a"), {}, GOES_ON),
    "the-second-time-closes-the-turn": (
        Told().then(*failures(5).events, THOUGHT, *failures(5).events),
        {},
        Expected(CloseOut, StopReason.LOOP_DETECTED, ("second time",)),
    ),
    "it-can-be-switched-off": (failures(5), {"max_failures": 0}, GOES_ON),
}


@pytest.mark.parametrize("told, options, expected", CIRCUIT.values(), ids=CIRCUIT)
async def test_failures_in_a_row_take_the_tools_away(told: Told, options, expected) -> None:
    await check(FailureCircuit(FailureCircuitOptions(**options)), view_of(*told.events), expected)


async def test_an_answer_without_tools_is_followed_by_one_with_them() -> None:
    thought = (*failures(5).events, THOUGHT, said("I guessed."))
    await check(TextOnlyAnswer(), view_of(*thought), Expected(Nudge, says=("call tools again",)))


async def test_an_answer_that_could_have_called_tools_passes() -> None:
    await check(TextOnlyAnswer(), view_of(prepared(), said("Done.")), Expected(Pass))


def looked(*names: str) -> Told:
    told = Told()
    for name in names:
        told.step(path=name, version="1")
    return told


TEN = [f"f{number}.py" for number in range(10)]
MAKE_IT = Expected(Nudge, says=("make the first edit now",))
EXPLORATION = {
    "the-tenth-file-is-nudged": (looked(*TEN), "Fix the parser.", MAKE_IT),
    "a-question-may-read-on": (looked(*TEN), "What does it do?", GOES_ON),
    "after-an-edit-it-is-silent": (looked(*TEN).then(APPLIED), "Fix it.", GOES_ON),
    "fifteen-steps-with-nothing-new-are-nudged": (
        looked("a.py").steps(14, "grep", pattern="x"),
        "Fix it.",
        Expected(Nudge, says=("hardly seen a new file",)),
    ),
    "two-new-files-lately-are-progress": (
        looked("a.py").steps(12, "grep", pattern="x").then(*looked("b.py", "c.py").events),
        "Fix it.",
        GOES_ON,
    ),
}


@pytest.mark.parametrize("told, prompt, expected", EXPLORATION.values(), ids=EXPLORATION)
async def test_looking_without_changing_is_nudged(told: Told, prompt, expected) -> None:
    view = view_of(*told.events, prompt=prompt)
    await check(Exploration(), view, expected)


async def test_plan_mode_may_look_for_as_long_as_it_likes() -> None:
    view = view_of(*looked(*TEN).events, prompt="Fix it.", mode=Mode.PLAN)
    await check(Exploration(), view, GOES_ON)


async def test_looking_is_nudged_once() -> None:
    told = looked(*TEN)
    verdict = await Exploration().check(view_of(*told.events, prompt="Fix it."))
    told.then(told_as(view_of(*told.events), verdict))
    await check(Exploration(), view_of(*told.events, prompt="Fix it."), GOES_ON)


PLAN = PlanUpdated(items=(PlanItem(text="test it", status=PlanStatus.PENDING),))
WRAP_UP = {
    "nobody-asked": ((), GOES_ON),
    "with-nothing-open-the-turn-counts-as-done": (
        (WrapUpRequested(by="panel"),),
        Expected(CloseOut, StopReason.COMPLETED, ("panel",)),
    ),
    "with-an-open-plan-it-is-partial": (
        (PLAN, WrapUpRequested(by="panel")),
        Expected(CloseOut, StopReason.OPEN_TASKS),
    ),
}


@pytest.mark.parametrize("happened, expected", WRAP_UP.values(), ids=WRAP_UP)
async def test_who_asks_to_finish_gets_an_end(happened, expected) -> None:
    await check(WrapUp(), view_of(*happened), expected)


async def test_a_plan_that_an_earlier_turn_left_open_is_not_this_turns() -> None:
    view = view_of(WrapUpRequested(by="panel"), earlier=[PLAN])
    assert view.open_tasks == ()
    await check(WrapUp(), view, Expected(CloseOut, StopReason.COMPLETED))


async def test_words_with_a_decision_count_as_the_users_words() -> None:
    answer = ApprovalAnswer(choice=ApprovalChoice.REJECT_ONCE, note="Use b.py.")
    told = reads(2).then(ApprovalResolved(approval_id="apr_1", answer=answer)).step(path="a.py")
    await check(Repetition(), view_of(*told.events), GOES_ON)
