"""Room and budget: when a conversation is shortened of itself, and what that is good for."""

from __future__ import annotations

import pytest

from agent_ls.domain.events import (
    AdviceGiven,
    AdvisoryRaised,
    CancelRequested,
    Compacted,
    CompactionRequested,
    CompactionSettled,
    Event,
    Moved,
)
from agent_ls.domain.messages import AssistantMessage
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import CloseOut, Compact, Nudge, Proceed, Recover
from agent_ls.loop.extension_points import Check
from agent_ls.loop.state.view import TurnView, message_tokens, text_tokens
from agent_ls.policies.checks.asked_compaction import AskedCompaction
from agent_ls.policies.checks.budget import Budget, BudgetOptions
from agent_ls.policies.checks.context_pressure import ContextPressure, ContextPressureOptions
from tests.policies.views import Expected, call_of, prepared, result_of, said, spent, view_of

GOES_ON = Expected(Proceed)


async def check(policy: Check, view: TurnView, expected: Expected) -> None:
    """Assert what the policy says of the view, and that asking twice changes nothing."""
    verdict = await policy.check(view)
    expected.hold(verdict)
    assert await policy.check(view) == verdict


def exchanges(count: int, size: int = 4_000) -> list[Event]:
    happened: list[Event] = []
    for number in range(1, count + 1):
        call = call_of("read_file", '{"path": "a.py"}', id=f"cal_{number}")
        result = result_of("x" * size, id=call.id)
        happened += [prepared(number), said("", call, number=number), result]
    return happened


def shortened(before: int, after: int, *, elapsed_s: float = 0.0) -> Compacted:
    return Compacted(
        origin="work_log",
        why="",
        drop_before=1,
        summary="s",
        before_tokens=before,
        after_tokens=after,
        elapsed_s=elapsed_s,
    )


COMPACTS = Expected(Compact, says=("9 exchanges",))
TO_COMPACT = Moved(to=Phase.COMPACT)
PRESSURE = {
    "eight-exchanges-are-borne": (exchanges(8), 0, 0.0, {}, GOES_ON),
    "small-ones-are-not-worth-it": (exchanges(9, 100), 0, 0.0, {}, GOES_ON),
    "above-three-quarters-it-is-time": (exchanges(9), 12_000, 0.0, {}, COMPACTS),
    "it-can-be-switched-off": (exchanges(9), 0, 0.0, {"share": 0}, GOES_ON),
    "few-exchanges-are-left-to-the-hard-limit": (exchanges(8), 1_000, 0.0, {}, GOES_ON),
    "once-until-the-next-answer": ([*exchanges(9), TO_COMPACT], 0, 0.0, {}, GOES_ON),
    "a-resumed-turn-does-not-wait-for-its-old-clock": (
        [TO_COMPACT, shortened(9, 8, elapsed_s=500.0), *exchanges(9)],
        0,
        3.0,
        {},
        COMPACTS,
    ),
}


ASKED = CompactionRequested(by="user")
ASKED_COMPACTION = {
    "nobody-asked": ((), GOES_ON),
    "a-request-is-met-at-the-next-step": ((ASKED,), Expected(Compact, says=("The user",))),
    "once": ((ASKED, TO_COMPACT, CompactionSettled(is_shorter=False)), GOES_ON),
    "a-stop-takes-it-back": ((ASKED, CancelRequested(by="user")), GOES_ON),
}


@pytest.mark.parametrize("happened, expected", ASKED_COMPACTION.values(), ids=ASKED_COMPACTION)
async def test_the_user_can_ask_for_a_compaction(happened, expected) -> None:
    await check(AskedCompaction(), view_of(*happened), expected)


@pytest.mark.parametrize(
    "happened, window_tokens, elapsed_s, options, expected", PRESSURE.values(), ids=PRESSURE
)
async def test_a_long_conversation_is_shortened_before_it_has_to_be(
    happened, window_tokens, elapsed_s, options, expected
) -> None:
    view = view_of(*happened, window_tokens=window_tokens, elapsed_s=elapsed_s)
    await check(ContextPressure(ContextPressureOptions(**options)), view, expected)


def advised(tokens: int) -> AdviceGiven:
    """Return a side request that used so many tokens."""
    usage = Usage(input_tokens=tokens)
    return AdviceGiven(origin="summarize", model="m", text="s", usage=usage)


SAVES = Moved(to=Phase.COMPACT, recovers=True, why="used up")
BACK = Moved(to=Phase.CHECK)
CLOSES = Expected(CloseOut, StopReason.BUDGET_LIMIT)
RAISED = Expected(Nudge, says=("raised once, to 1,100 tokens",), silent_on=("USD",))
RECOVERY = {
    "the-limit-saves-first": ((spent(1_000),), {}, Expected(Recover, says=("1,000 of 1,000",))),
    "unless-that-is-switched-off": ((spent(1_000),), {"recover": False}, CLOSES),
    "nothing-saved-closes": ((spent(1_000), SAVES, BACK), {}, CLOSES),
    "a-fifth-saved-raises-it": ((spent(1_000), SAVES, shortened(1_000, 800), BACK), {}, RAISED),
    "the-raised-limit-holds": (
        (spent(1_000), SAVES, shortened(1_000, 500), BACK, spent(99)),
        {},
        Expected(Nudge, says=("1,100 tokens",)),
    ),
    "money-alike": (
        (spent(10, 5.0), SAVES, shortened(1_000, 500), BACK),
        {},
        Expected(Nudge, says=("to 5.50 USD",), silent_on=("tokens",)),
    ),
    "only-the-limit-that-was-reached-is-raised": (
        (spent(10, 5.0), SAVES, shortened(1_000, 500), BACK, spent(990)),
        {},
        CLOSES,
    ),
    "side-requests-count-for-what-was-used-up": (
        (spent(600), advised(400), SAVES, shortened(1_000, 500), BACK),
        {},
        RAISED,
    ),
    "another-compaction-is-no-recovery": (
        (Moved(to=Phase.COMPACT), shortened(1_000, 100), BACK, spent(1_000)),
        {},
        Expected(Recover),
    ),
}


@pytest.mark.parametrize("happened, options, expected", RECOVERY.values(), ids=RECOVERY)
async def test_a_budget_is_stretched_once_if_that_saves_enough(happened, options, expected) -> None:
    budget = Budget(BudgetOptions(max_tokens=1_000, **options))
    await check(budget, view_of(*happened), expected)


async def test_that_a_limit_was_raised_is_said_once() -> None:
    happened = (spent(1_000), SAVES, shortened(1_000, 500), BACK)
    budget = Budget(BudgetOptions(max_tokens=1_000))
    verdict = await budget.check(view_of(*happened))
    assert isinstance(verdict, Nudge)
    told = AdvisoryRaised(origin="budget", text=verdict.text, priority=0)
    await check(budget, view_of(*happened, told), GOES_ON)


def test_an_estimate_is_characters_by_four_with_sixteen_a_message() -> None:
    assert text_tokens("x" * 400) == (400 + 16) // 4
    call = call_of("grep", '{"pattern": "x"}')
    letters = len("Looking.") + len("grep") + len('{"pattern": "x"}')
    assert message_tokens(AssistantMessage(text="Looking.", calls=(call,))) == (letters + 16) // 4
    assert view_of(prompt="y" * 84).estimated_tokens == (84 + 16) // 4
