"""Before every step: which events let a turn go on, and which end it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from agent_ls.domain.calls import ToolResult
from agent_ls.domain.events import (
    AdvisoryRaised,
    CancelRequested,
    Compacted,
    Event,
    Moved,
    ToolCallFinished,
    TurnStarted,
)
from agent_ls.domain.modes import Mode
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CloseOut, Compact, Halt, Nudge, Proceed
from agent_ls.loop.extension_points import Check
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.checks.budget import Budget, BudgetOptions
from agent_ls.policies.checks.call_limit import CallLimit, CallLimitOptions
from agent_ls.policies.checks.cancelled import Cancelled
from agent_ls.policies.checks.context_full import ContextFull
from agent_ls.policies.checks.failure_limit import FailureLimit
from agent_ls.policies.checks.step_limit import StepLimit, StepLimitOptions
from agent_ls.policies.checks.wall_clock import WallClock, WallClockOptions
from tests.policies.views import Expected, call_of, prepared, recovered, said, spent, steps, view_of

GOES_ON = Expected(Proceed)


async def check(policy: Check, view: TurnView, expected: Expected) -> None:
    """Assert what the policy says of the view, and that asking twice changes nothing."""
    verdict = await policy.check(view)
    expected.hold(verdict)
    assert await policy.check(view) == verdict


CANCELLED = [
    pytest.param((), GOES_ON, id="a-turn-nobody-stopped-goes-on"),
    pytest.param(
        (CancelRequested(by="the stop command"),),
        Expected(Halt, StopReason.CANCELLED, ("the stop command",)),
        id="a-request-to-stop-halts-at-once",
    ),
]


@pytest.mark.parametrize("happened, expected", CANCELLED)
async def test_a_turn_ends_at_once_when_somebody_asked_for_it(happened, expected) -> None:
    await check(Cancelled(), view_of(*happened), expected)


async def test_a_request_to_stop_an_earlier_turn_does_not_stop_this_one() -> None:
    view = view_of(earlier=(CancelRequested(by="user"),))
    await check(Cancelled(), view, GOES_ON)


CLOSED_FOR_STEPS = Expected(CloseOut, StopReason.MAX_STEPS)
STEP_LIMIT = {
    "one-step-below-the-limit-goes-on": (49, Mode.ASK, {}, GOES_ON),
    "at-the-limit-the-turn-closes": (50, Mode.ASK, {}, CLOSED_FOR_STEPS),
    "one-step-below-the-plan-limit-goes-on": (19, Mode.PLAN, {}, GOES_ON),
    "plan-mode-has-its-own-smaller-limit": (20, Mode.PLAN, {}, CLOSED_FOR_STEPS),
    "the-smaller-limit-holds-in-plan-mode": (5, Mode.PLAN, {"max_steps": 5}, CLOSED_FOR_STEPS),
    "zero-is-no-limit": (60, Mode.AUTO, {"max_steps": 0}, GOES_ON),
    "the-reason-names-the-limit-and-the-setting": (
        1,
        Mode.ASK,
        {"max_steps": 1},
        Expected(CloseOut, StopReason.MAX_STEPS, ("all 1 steps", "policies.step_limit.max_steps")),
    ),
}


@pytest.mark.parametrize("count, mode, options, expected", STEP_LIMIT.values(), ids=STEP_LIMIT)
async def test_steps_are_counted_in_answers(count, mode, options, expected) -> None:
    await check(StepLimit(StepLimitOptions(**options)), view_of(*steps(count), mode=mode), expected)


async def test_attempts_that_brought_no_answer_are_not_steps() -> None:
    failed = [prepared(1), spent(finish=None), recovered("transport", "fail_step")] * 60
    await check(StepLimit(), view_of(*failed), GOES_ON)


def calls(count: int, first: int = 0) -> list[Event]:
    """Return calls that the model made, with their results."""
    asked = [call_of("grep", id=f"cal_{first + i}") for i in range(count)]
    ended = [ToolCallFinished(result=ToolResult(call_id=one.id, text="")) for one in asked]
    return [prepared(), said("", *asked), *ended]


CLOSED_FOR_CALLS = Expected(CloseOut, StopReason.RESOURCE_LIMIT)
CALL_LIMIT = {
    "one-call-below-the-limit-goes-on": (499, 0, {}, GOES_ON),
    "at-the-limit-the-turn-closes": (500, 0, {}, CLOSED_FOR_CALLS),
    "earlier-turns-do-not-count": (499, 499, {}, GOES_ON),
    "they-count-for-the-session": (5, 5, {"max_session_calls": 10}, CLOSED_FOR_CALLS),
    "below-the-limit-of-the-session": (5, 4, {"max_session_calls": 10}, GOES_ON),
    "zero-is-no-limit": (600, 600, {"max_calls": 0, "max_session_calls": 0}, GOES_ON),
    "the-reason-names-the-setting": (
        3,
        0,
        {"max_calls": 3},
        Expected(CloseOut, StopReason.RESOURCE_LIMIT, ("3 calls", "policies.call_limit.max_calls")),
    ),
}


@pytest.mark.parametrize("count, before, options, expected", CALL_LIMIT.values(), ids=CALL_LIMIT)
async def test_calls_are_counted_in_a_turn_and_a_session(count, before, options, expected) -> None:
    earlier = (TurnStarted(turn_id="trn_0", prompt="x"), *calls(before, 10_000)) if before else ()
    view = view_of(*calls(count), earlier=earlier)
    await check(CallLimit(CallLimitOptions(**options)), view, expected)


CLOSED_FOR_BUDGET = Expected(CloseOut, StopReason.BUDGET_LIMIT)
BUDGET = {
    "one-token-below-the-soft-limit-is-silent": ((spent(749_999),), {}, GOES_ON),
    "at-the-soft-limit-the-model-is-told": (
        (spent(750_000),),
        {},
        Expected(Nudge, says=("750,000 of 1,000,000 tokens",), silent_on=("USD",)),
    ),
    "the-model-is-told-only-once": (
        (spent(750_000), AdvisoryRaised(origin="budget", text="told", priority=0), spent(1)),
        {},
        GOES_ON,
    ),
    "at-the-hard-limit-the-turn-closes": (
        (spent(1_000_000),),
        {"recover": False},
        Expected(
            CloseOut, StopReason.BUDGET_LIMIT, ("1,000,000 of 1,000,000 tokens", "policies.budget")
        ),
    ),
    "every-attempt-counts-failed-ones-too": (
        (spent(500_000), spent(300_000, finish=None), spent(200_000)),
        {"recover": False},
        CLOSED_FOR_BUDGET,
    ),
    "at-the-soft-cost-the-model-is-told": (
        (spent(10, 3.75),),
        {},
        Expected(Nudge, says=("3.75 of 5.00 USD",), silent_on=("tokens",)),
    ),
    "at-the-hard-cost-the-turn-closes": (
        (spent(10, 5.0),),
        {"recover": False},
        Expected(CloseOut, StopReason.BUDGET_LIMIT, ("5.00 of 5.00 USD",), silent_on=("tokens",)),
    ),
    "no-token-limit-is-none": ((spent(9_000_000),), {"max_tokens": 0}, GOES_ON),
    "no-cost-limit-is-none": ((spent(10, 500.0),), {"max_cost_usd": 0}, GOES_ON),
    "advice-can-be-left-out": ((spent(99),), {"max_tokens": 100, "advise_at": 1.0}, GOES_ON),
}


@pytest.mark.parametrize("happened, options, expected", BUDGET.values(), ids=BUDGET)
async def test_spending_is_advised_on_once_and_then_ends_the_turn(
    happened, options, expected
) -> None:
    await check(Budget(BudgetOptions(**options)), view_of(*happened), expected)


CLOSED_FOR_TIME = Expected(CloseOut, StopReason.TIMEOUT, ("policies.wall_clock.limit_s",))
WALL_CLOCK = {
    "by-default-there-is-no-limit": (1e9, {}, GOES_ON),
    "just-before-the-limit-goes-on": (1_799.9, {"limit_s": 1_800}, GOES_ON),
    "at-the-limit-the-turn-closes": (1_800.0, {"limit_s": 1_800}, CLOSED_FOR_TIME),
    "a-short-limit-lets-the-turn-begin": (0.0, {"limit_s": 0.5}, GOES_ON),
}


@pytest.mark.parametrize("elapsed_s, options, expected", WALL_CLOCK.values(), ids=WALL_CLOCK)
async def test_time_is_monotonic_and_off_by_default(elapsed_s, options, expected) -> None:
    view = view_of(elapsed_s=elapsed_s)
    await check(WallClock(WallClockOptions(**options)), view, expected)


COMPACTS = Expected(Compact)
CLOSED_AS_FULL = Expected(CloseOut, StopReason.CONTEXT_FULL, ("new session",))
TO_COMPACT = Moved(to=Phase.COMPACT)
COMPACTED = Compacted(
    origin="window", why="", drop_before=1, summary="s" * 2_000, before_tokens=9, after_tokens=8
)
CONTEXT_FULL = [
    pytest.param((spent(1_000_000),), 0, GOES_ON, id="an-unknown-window-is-never-full"),
    pytest.param((spent(949), said()), 1_000, GOES_ON, id="one-token-below-the-share-goes-on"),
    pytest.param(
        (spent(950), said()),
        1_000,
        Expected(Compact, says=("950 of the model's 1,000 tokens",)),
        id="at-the-share-it-is-shortened-first",
    ),
    pytest.param(
        (spent(5_000), TO_COMPACT, COMPACTED, Moved(to=Phase.CHECK)),
        500,
        CLOSED_AS_FULL,
        id="a-compaction-that-did-not-help-enough-closes-the-turn",
    ),
    pytest.param(
        (spent(5_000), TO_COMPACT, COMPACTED, Moved(to=Phase.CHECK)),
        1_000,
        GOES_ON,
        id="a-compaction-that-helped-lets-the-turn-go-on",
    ),
    pytest.param(
        (TO_COMPACT, COMPACTED, said("done"), spent(950)),
        1_000,
        COMPACTS,
        id="an-answer-since-the-last-compaction-allows-another",
    ),
]


@pytest.mark.parametrize("happened, window_tokens, expected", CONTEXT_FULL)
async def test_a_full_window_is_shortened_once_and_then_closes(
    happened, window_tokens, expected
) -> None:
    view = view_of(*happened, prompt="Go.", window_tokens=window_tokens)
    await check(ContextFull(), view, expected)


FAILED_STEP = (prepared(), recovered("transport", "fail_step", text="429: slow down."))
FAILURE_LIMIT = {
    "without-failures-the-turn-goes-on": ((), GOES_ON),
    "two-failed-steps-are-borne": (FAILED_STEP * 2, GOES_ON),
    "three-failed-steps-in-a-row-stop-the-turn": (
        FAILED_STEP * 3,
        Expected(Halt, StopReason.ERROR, ("3 steps in a row", "429: slow down.")),
    ),
    "an-answer-resets-the-count": ((*FAILED_STEP * 2, *steps(1), *FAILED_STEP), GOES_ON),
    "retries-are-not-failed-steps": ((prepared(), *[recovered("transport", "retry")] * 9), GOES_ON),
}


@pytest.mark.parametrize("happened, expected", FAILURE_LIMIT.values(), ids=FAILURE_LIMIT)
async def test_steps_that_fail_in_a_row_stop_the_turn(happened, expected) -> None:
    await check(FailureLimit(), view_of(*happened), expected)


BAD_OPTIONS = {
    "a-negative-step-limit": (StepLimitOptions, {"max_steps": -1}),
    "a-time-that-is-no-number": (WallClockOptions, {"limit_s": float("nan")}),
    "a-key-that-does-not-exist": (StepLimitOptions, {"max_stepz": 5}),
}


@pytest.mark.parametrize("options, values", BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_options_that_cannot_work_are_refused(options, values) -> None:
    with pytest.raises(ValidationError):
        options(**values)
