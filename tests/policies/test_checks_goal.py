"""Goal turns: when everything is proven, and when nobody believes any more that it will be."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agent_ls.domain.approvals import Question, QuestionAnswer
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.events import (
    AdviceGiven,
    AdvisoryRaised,
    Answered,
    EditApplied,
    Event,
    GoalChecked,
    MonitorAlerted,
    PromptQueued,
    QuestionAsked,
    QuestionResolved,
)
from agent_ls.domain.goals import Criterion, Goal, Proof
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CloseOut, Escalate, Nudge, Proceed
from agent_ls.loop.extension_points import Check
from agent_ls.loop.ports.meter import ResourceUsage
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.checks.confidence import Confidence, ConfidenceOptions
from agent_ls.policies.checks.criteria import Criteria
from agent_ls.policies.checks.monitor_alert import MonitorAlert
from agent_ls.policies.checks.resources import Resources, ResourcesOptions
from tests.policies.views import Expected, prepared, said, steps, view_of

GOES_ON = Expected(Proceed)
GOAL = Goal(
    text="Make it fast.",
    acceptance=(Criterion(text="Twice as fast.", command="bench"), Criterion(text="Same API.")),
    tests=("pytest",),
)


async def check(policy: Check, view: TurnView, expected: Expected) -> None:
    """Assert what the policy says of the view, and that asking twice changes nothing."""
    verdict = await policy.check(view)
    expected.hold(verdict)
    assert await policy.check(view) == verdict


def goal_view(*happened: Event, goal: Goal | None = GOAL) -> TurnView:
    """Return the view of a goal turn."""
    return view_of(*happened, goal=goal)


def proven(*names: str, is_met: bool = True) -> GoalChecked:
    proofs = tuple(Proof(of=name, is_met=is_met, by="command") for name in names)
    return GoalChecked(origin="verification", proofs=proofs)


ALL = ("bench", "pytest", "Same API.")
CLOSES = Expected(CloseOut, StopReason.COMPLETED)
CRITERIA = {
    "nothing-is-proven-yet": ((), GOAL, GOES_ON),
    "all-proven-closes-the-turn": ((proven(*ALL),), GOAL, CLOSES),
    "a-change-undoes-the-proof": (
        (proven(*ALL), EditApplied(call_id="c", path="a.py", status="applied")),
        GOAL,
        GOES_ON,
    ),
    "a-goal-without-criteria-proves-nothing": ((), Goal(text="Look."), GOES_ON),
    "an-ordinary-turn-has-none": ((proven(*ALL),), None, GOES_ON),
}


@pytest.mark.parametrize("happened, goal, expected", CRITERIA.values(), ids=CRITERIA)
async def test_a_goal_that_is_proven_closes_the_turn(happened, goal, expected) -> None:
    await check(Criteria(), goal_view(*happened, goal=goal), expected)


@dataclass(frozen=True)
class Says:
    """A side model that says one thing, or nothing at all; notes what it was asked."""

    text: str
    asked: list[str] = field(default_factory=list[str])

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        self.asked.append(text)
        if not self.text:
            raise ProviderError(ProviderFailure.OVERLOADED, "busy")
        return self.text


def asked(by: str = "test", origin: str = "confidence") -> tuple[Event, Event]:
    question = Question(id="qst_1", turn_id="trn_1", origin=origin, text="Go on?")
    answer = QuestionAnswer(text="continue", by=by)
    return QuestionAsked(question=question), QuestionResolved(question_id="qst_1", answer=answer)


def steer(text: str) -> Event:
    return PromptQueued(text=text, kind="steer")


def thought(reasoning: str, *, number: int) -> Answered:
    """Return an answer of which only the reasoning says something."""
    answer = said("Looking.", number=number)
    message = answer.message.model_copy(update={"reasoning": reasoning})
    return answer.model_copy(update={"message": message})


def doubt(text: str) -> list[Event]:
    return [*steps(2), prepared(3), said(text, number=3)]


ASKS = Expected(Escalate, StopReason.LOW_CONFIDENCE)
CONFIDENCE = {
    "not-before-the-fifth-step": (steps(4), "0.1", {}, GOES_ON, 0),
    "the-fifth-step-is-judged": (steps(5), "0.49\nNo.", {}, ASKS, 1),
    "half-is-enough": (steps(5), "0.5\nWell.", {}, GOES_ON, 1),
    "no-number-is-none": (steps(5), "I cannot say.", {}, ASKS, 1),
    "a-model-that-cannot-be-asked-says-nothing": (steps(5), "", {}, GOES_ON, 1),
    "it-can-be-switched-off": (steps(5), "0.1", {"threshold": 0}, GOES_ON, 0),
    "doubt-is-judged": (doubt("I’m not sure how to go on."), "0.1", {}, ASKS, 1),
    "certainty-is-not": (doubt("I am sure."), "0.1", {}, GOES_ON, 0),
    "doubt-in-thinking-is-judged": (
        [*steps(2), prepared(3), thought("Ich bin mir nicht sicher.", number=3)],
        "0.1",
        {},
        ASKS,
        1,
    ),
    "who-said-go-on-is-not-asked-again": ([*steps(5), *asked()], "0.1", {}, GOES_ON, 0),
    "a-question-taken-back-is": ([*steps(5), *asked("nobody")], "0.1", {}, ASKS, 1),
    "nothing-happened-yet": ([], "0.1", {}, GOES_ON, 0),
    "on-request": ([*steps(2), steer("How sure are you?")], "0.1", {}, ASKS, 1),
    "other-words": ([*steps(2), steer("Mind the tabs.")], "0.1", {}, GOES_ON, 0),
}


@pytest.mark.parametrize(
    "happened, text, options, expected, count", CONFIDENCE.values(), ids=CONFIDENCE
)
async def test_low_confidence_asks_the_user(happened, text, options, expected, count) -> None:
    says = Says(text)
    await check(Confidence(says, ConfidenceOptions(**options)), goal_view(*happened), expected)
    assert len(says.asked) == 2 * count


ANSWERED = [*steps(1), prepared(2), said("Not sure yet.", number=2), *asked()]
ORDINARY = {
    "without-doubt-it-is-not-judged": (steps(5), GOES_ON, 0),
    "not-on-request-either": ([*steps(2), steer("How sure are you?")], GOES_ON, 0),
    "doubt-is-judged": (doubt("No estoy seguro de que funcione."), ASKS, 1),
    "what-it-doubted-while-thinking-is-not": (
        [*steps(2), prepared(3), thought("I'm not sure. Let me look.", number=3)],
        GOES_ON,
        0,
    ),
    "who-said-go-on-is-not-asked-for-the-rest-of-the-turn": (
        [*ANSWERED, prepared(3), said("我不确定。", number=3)],
        GOES_ON,
        0,
    ),
}


@pytest.mark.parametrize("happened, expected, count", ORDINARY.values(), ids=ORDINARY)
async def test_an_ordinary_turn_is_judged_only_when_the_answer_voices_doubt(
    happened, expected, count
) -> None:
    says = Says("0.1")
    await check(Confidence(says), goal_view(*happened, goal=None), expected)
    assert len(says.asked) == 2 * count
    assert all("Goal:\nMake the parser faster." in one for one in says.asked)


@pytest.mark.parametrize(
    "text, expected",
    [pytest.param("0.2\nNo.", ASKS, id="low"), pytest.param("", GOES_ON, id="none")],
)
async def test_a_judgement_of_before_a_restart_counts(text, expected) -> None:
    says = Says("0.9")
    given = AdviceGiven(origin="confidence", model="m", text=text)
    await check(Confidence(says), goal_view(*steps(5), given), expected)
    assert says.asked == []


async def test_what_is_judged_is_the_goal_its_proofs_and_the_last_steps() -> None:
    says = Says("0.9")
    happened = [proven("pytest"), *steps(5)]
    await check(Confidence(says, ConfidenceOptions(shown_steps=2)), goal_view(*happened), GOES_ON)
    for piece in ("turn trn_1, step 5", "Make it fast.", "Proven: 1 of 3", "Missing: bench"):
        assert piece in says.asked[0]
    assert says.asked[0].count("read_file(") == 2


ALERT = MonitorAlerted(pattern="no_progress", text="Nothing new.")
TOLD = AdvisoryRaised(origin="monitor_alert", text="x", priority=1)
MONITOR = {
    "no-alert": ((), GOES_ON),
    "the-first-is-told": ((ALERT,), Expected(Nudge, says=("Nothing new.",))),
    "once": ((ALERT, TOLD), GOES_ON),
    "the-second-asks": ((ALERT, TOLD, ALERT), Expected(Escalate, StopReason.LOOP_DETECTED)),
    "continue-counts-anew": ((ALERT, TOLD, ALERT, *asked(origin="monitor_alert")), GOES_ON),
}


@pytest.mark.parametrize("happened, expected", MONITOR.values(), ids=MONITOR)
async def test_the_monitors_alerts_are_told_and_then_asked_about(happened, expected) -> None:
    await check(MonitorAlert(), view_of(*happened), expected)


@dataclass(frozen=True)
class Uses:
    """A machine on which so much is in use."""

    used: ResourceUsage

    async def measure(self) -> ResourceUsage:
        return self.used


GB = 1024**3
FULL = Expected(CloseOut, StopReason.RESOURCE_LIMIT)
RESOURCES = {
    "three-quarters-are-told": (
        ResourceUsage(int(1.5 * GB), 0, 0, 0),
        {},
        Expected(Nudge, says=("1,611 of 2,147 MB of memory",)),
    ),
    "at-the-limit-the-turn-closes": (ResourceUsage(2 * GB, 0, 0, 0), {}, FULL),
    "processor-time": (ResourceUsage(0, 60.0, 0, 0), {"max_cpu_s": 60}, FULL),
    "four-fifths-of-the-descriptors": (ResourceUsage(0, 0, 800, 1_000), {}, FULL),
    "a-disk-almost-full": (ResourceUsage(0, 0, 0, 0, 199_000_000), {}, FULL),
    "a-disk-with-room": (ResourceUsage(0, 0, 0, 0, 200_000_000), {}, GOES_ON),
    "a-full-disk-that-does-not-matter": (
        ResourceUsage(0, 0, 0, 0, 0),
        {"min_free_disk_bytes": 0},
        GOES_ON,
    ),
    "without-limits-nothing-is-measured": (
        ResourceUsage(9 * GB, 9.0, 9, 9),
        {"max_memory_bytes": 0, "max_descriptors_share": 0, "min_free_disk_bytes": 0},
        GOES_ON,
    ),
}


@pytest.mark.parametrize("used, options, expected", RESOURCES.values(), ids=RESOURCES)
async def test_what_the_machine_gives_is_limited(used, options, expected) -> None:
    await check(Resources(Uses(used), ResourcesOptions(**options)), view_of(), expected)


async def test_that_it_gets_tight_is_said_once() -> None:
    told = AdvisoryRaised(origin="resources", text="x", priority=0)
    tight = Uses(ResourceUsage(int(1.5 * GB), 0, 0, 0))
    await check(Resources(tight), view_of(told), GOES_ON)
