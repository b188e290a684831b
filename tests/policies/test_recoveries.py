"""After an attempt: what is accepted, asked again, waited for, and given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_ls.domain.calls import ToolCall
from agent_ls.domain.errors import RETRYABLE, ProviderError, ProviderFailure
from agent_ls.domain.events import Moved, RecoveryChosen
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.phases import Phase
from agent_ls.domain.stops import StopReason
from agent_ls.domain.usage import Usage
from agent_ls.domain.verdicts import (
    Accept,
    AcceptAsPartial,
    Compact,
    Continue,
    Fail,
    Promote,
    Reask,
    Retry,
    StepFailed,
    SwitchModel,
)
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.sockets import Attempt, Recovery
from agent_ls.loop.state.view import TurnView
from agent_ls.policies.recoveries.context_overflow import ContextOverflow
from agent_ls.policies.recoveries.continuation import Continuation, ContinuationOptions
from agent_ls.policies.recoveries.empty import Empty
from agent_ls.policies.recoveries.fatal_error import FatalError
from agent_ls.policies.recoveries.refusal import Refusal
from agent_ls.policies.recoveries.thinking_only import ThinkingOnly
from agent_ls.policies.recoveries.transport import Transport, TransportOptions
from agent_ls.policies.recoveries.truncated_call import TruncatedCall
from tests.policies.views import Expected, call_of, prepared, recovered, said, view_of

ACCEPTED = Expected(Accept)
CALL = call_of("read_file", '{"path": "a.py"}')
CUT = call_of("write_file", '{"path": "a.py", "text": "de')


async def check(policy: Recovery, attempt: Attempt, view: TurnView, expected: Expected) -> None:
    """Assert what the policy says of the attempt, and that asking twice changes nothing."""
    verdict = await policy.judge(attempt, view)
    expected.hold(verdict)
    assert await policy.judge(attempt, view) == verdict


def brought(
    text: str = "",
    *,
    reasoning: str = "",
    calls: tuple[ToolCall, ...] = (),
    cut_calls: tuple[ToolCall, ...] = (),
    finish: FinishReason = FinishReason.STOP,
    input_tokens: int = 10,
) -> Attempt:
    """Return an attempt that ended cleanly."""
    return Attempt(
        text=text,
        reasoning=reasoning,
        calls=calls,
        cut_calls=cut_calls,
        finish=finish,
        error=None,
        usage=Usage(input_tokens=input_tokens, output_tokens=5),
    )


def failed(
    failure: ProviderFailure,
    message: str = "no luck",
    *,
    retry_after_s: float | None = None,
    status: int | None = None,
    text: str = "",
) -> Attempt:
    """Return an attempt that broke."""
    error = ProviderError(failure, message, retry_after_s=retry_after_s, status=status)
    return Attempt(text, "", (), (), None, error, Usage())


ANSWER = brought("The parser is faster now.")
RETRIES = Expected(Retry)
RETRIED = recovered("transport", "retry")
TRANSPORT = [
    pytest.param(ANSWER, (), {}, ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(
        failed(ProviderFailure.RATE_LIMITED, "slow down."),
        (),
        {},
        Expected(Retry, says=("slow down. Trying again", "(2 of 5)")),
        id="a-rate-limit-is-waited-out",
    ),
    pytest.param(
        failed(ProviderFailure.BROKEN_STREAM, text="half an ans"),
        (),
        {},
        RETRIES,
        id="a-stream-that-broke-in-the-middle-is-retried",
    ),
    pytest.param(
        failed(ProviderFailure.SERVER), (RETRIED,) * 3, {}, RETRIES, id="the-fifth-try-is-made"
    ),
    pytest.param(
        failed(ProviderFailure.SERVER, "boom"),
        (RETRIED,) * 4,
        {},
        Expected(Fail, StopReason.ERROR, ("boom.", "5 tries", "prompt again")),
        id="after-the-fifth-try-the-turn-ends",
    ),
    pytest.param(
        failed(ProviderFailure.SERVER),
        (*(RETRIED,) * 4, said("x"), prepared(2)),
        {},
        RETRIES,
        id="an-answer-sets-the-count-back",
    ),
    *(
        pytest.param(failed(failure), (), {}, RETRIES, id=f"{failure.value}-is-retried")
        for failure in sorted(RETRYABLE)
    ),
    *(
        pytest.param(failed(failure), (), {}, ACCEPTED, id=f"{failure.value}-is-for-another")
        for failure in sorted(set(ProviderFailure) - RETRYABLE)
    ),
]


HEARD = said("x")
LASTING = [
    pytest.param(ProviderFailure.TIMEOUT, (), Fail, id="a-silence-is-waited-for-once"),
    pytest.param(ProviderFailure.TIMEOUT, (HEARD,), Fail, id="and-so-it-is-later-in-the-turn"),
    pytest.param(ProviderFailure.CONNECTION, (), Fail, id="what-is-not-there-is-not-asked-again"),
    pytest.param(ProviderFailure.CONNECTION, (HEARD,), Retry, id="what-has-answered-may-come-back"),
]


@pytest.mark.parametrize("failure, happened, verdict", LASTING)
async def test_what_would_only_take_as_long_again_is_asked_once(failure, happened, verdict) -> None:
    error = ProviderError(failure, "It is silent.", is_lasting=True)
    attempt = replace(failed(failure), error=error)
    view = view_of(prepared(), *happened, prepared(2))
    await check(Transport(), attempt, view, Expected(verdict, says=("It is silent.",)))
    with_fallback = Transport(models=ModelOptions(fallback="acme/small"))
    expected = SwitchModel if verdict is Fail else Retry
    await check(with_fallback, attempt, view, Expected(expected))


@pytest.mark.parametrize("attempt, happened, options, expected", TRANSPORT)
async def test_what_may_succeed_later_is_tried_again(attempt, happened, options, expected) -> None:
    view = view_of(prepared(), *happened)
    await check(Transport(TransportOptions(**options)), attempt, view, expected)


WAITS = [
    pytest.param(0, None, 1.5, 2.0, id="the-first-wait-is-about-two-seconds"),
    pytest.param(1, None, 3.0, 4.0, id="the-wait-doubles"),
    pytest.param(4, None, 22.5, 30.0, id="the-wait-never-exceeds-thirty-seconds"),
    pytest.param(5_000, None, 22.5, 30.0, id="thousands-of-tries-do-not-overflow"),
    pytest.param(0, 7.0, 7.0, 7.0, id="retry-after-is-honoured"),
    pytest.param(4, 60.0, 60.0, 60.0, id="retry-after-may-exceed-our-own-longest-wait"),
    pytest.param(0, 61.0, 60.0, 60.0, id="retry-after-is-cut-to-a-minute"),
    pytest.param(0, 0.0, 1.5, 2.0, id="a-retry-after-of-zero-leaves-our-own-wait"),
    pytest.param(0, float("nan"), 1.5, 2.0, id="a-retry-after-that-is-no-number-is-ignored"),
]


SWITCHED = RecoveryChosen(
    step_id="stp_1", origin="transport", action="switch_model", model="acme/small"
)
FALLBACK = [
    pytest.param(
        (RETRIED,) * 4,
        Expected(SwitchModel, says=("5 tries. Asking acme/small instead.",)),
        id="then-the-fallback-is-asked",
    ),
    pytest.param((*(RETRIED,) * 4, SWITCHED), RETRIES, id="the-fallback-has-tries-of-its-own"),
    pytest.param(
        (*(RETRIED,) * 4, SWITCHED, *(RETRIED,) * 4),
        Expected(Fail, StopReason.ERROR),
        id="then-the-turn-ends",
    ),
    pytest.param(
        (*(RETRIED,) * 4, SWITCHED, said("x"), prepared(2), *(RETRIED,) * 4),
        Expected(Fail, StopReason.ERROR),
        id="a-fallback-that-fails-in-a-later-step-has-no-fallback",
    ),
]


@pytest.mark.parametrize("happened, expected", FALLBACK)
async def test_when_the_tries_are_used_up_the_fallback_model_is_asked(happened, expected) -> None:
    policy = Transport(models=ModelOptions(fallback="acme/small"))
    attempt = failed(ProviderFailure.OVERLOADED)
    await check(policy, attempt, view_of(prepared(), *happened), expected)


@pytest.mark.parametrize(
    "providers, expected",
    [
        ({"other": {"tries": 1}}, RETRIES),
        ({"acme": {"tries": 1}}, Expected(Fail, StopReason.ERROR)),
        ({"acme": {"first_wait_s": 7, "jitter": 0}}, Expected(Retry, says=("in 7 s (2 of 5)",))),
        ({"acme": {"tries": 9}}, Expected(Retry, says=("(2 of 9)",))),
    ],
)
async def test_a_provider_may_have_numbers_of_its_own(providers, expected) -> None:
    policy = Transport(TransportOptions.model_validate({"providers": providers}))
    await check(policy, failed(ProviderFailure.SERVER), view_of(prepared()), expected)


@pytest.mark.parametrize("retried, retry_after_s, least_s, most_s", WAITS)
async def test_waits_grow_and_stay_within_bounds(retried, retry_after_s, least_s, most_s) -> None:
    policy = Transport(TransportOptions(tries=10_000))
    attempt = failed(ProviderFailure.RATE_LIMITED, retry_after_s=retry_after_s)
    verdict = await policy.judge(attempt, view_of(prepared(), *[RETRIED] * retried))
    assert isinstance(verdict, Retry)
    assert least_s <= verdict.after_s <= most_s


async def test_jitter_differs_between_steps_and_is_the_same_for_the_same_try() -> None:
    policy, attempt = Transport(), failed(ProviderFailure.SERVER)
    waits = [await policy.judge(attempt, view_of(prepared(step))) for step in range(1, 21)]
    again = [await policy.judge(attempt, view_of(prepared(step))) for step in range(1, 21)]
    assert waits == again
    assert len({verdict.after_s for verdict in waits if isinstance(verdict, Retry)}) > 10


FATAL = [
    pytest.param(ANSWER, ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(
        failed(ProviderFailure.AUTHENTICATION, "No key for acme", status=401),
        Expected(Fail, StopReason.ERROR, ("No key for acme. `agent-ls doctor`",)),
        id="a-wrong-key-ends-the-turn-and-says-where-to-look",
    ),
    pytest.param(
        failed(ProviderFailure.BAD_REQUEST, "temperature must be 1"),
        Expected(Fail, StopReason.ERROR, ("temperature must be 1. If it names", "settings")),
        id="a-bad-request-ends-the-turn",
    ),
    *(
        pytest.param(failed(failure), ACCEPTED, id=f"{failure.value}-is-for-another")
        for failure in sorted(
            RETRYABLE | {ProviderFailure.CONTEXT_OVERFLOW, ProviderFailure.CONTENT_FILTER}
        )
    ),
]


@pytest.mark.parametrize("attempt, expected", FATAL)
async def test_what_can_never_succeed_ends_the_turn(attempt, expected) -> None:
    await check(FatalError(), attempt, view_of(prepared()), expected)


OVERFLOW = failed(ProviderFailure.CONTEXT_OVERFLOW, "maximum context length is 8192")
COMPACTED_BEFORE = recovered("context_overflow", "compact")
COMPACTS = Expected(Compact)
CUT_TEXT = brought("half", finish=FinishReason.LENGTH, input_tokens=800)
CONTEXT_OVERFLOW = [
    pytest.param(ANSWER, (), 1_000, ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(OVERFLOW, (), 0, COMPACTS, id="an-overflow-is-compacted-with-any-window"),
    pytest.param(
        OVERFLOW,
        (COMPACTED_BEFORE, Moved(to=Phase.COMPACT), Moved(to=Phase.CHECK), prepared(2)),
        0,
        Expected(Fail, StopReason.CONTEXT_FULL, ("new session",)),
        id="an-overflow-after-a-compaction-ends-the-turn-although-it-is-another-step",
    ),
    pytest.param(CUT_TEXT, (), 1_000, COMPACTS, id="a-cut-answer-with-a-full-window-compacts"),
    pytest.param(
        brought("half", finish=FinishReason.LENGTH, input_tokens=799),
        (),
        1_000,
        ACCEPTED,
        id="a-cut-answer-with-a-smaller-input-is-the-output-limits-doing",
    ),
    pytest.param(
        CUT_TEXT,
        (COMPACTED_BEFORE, prepared(2)),
        1_000,
        ACCEPTED,
        id="a-cut-answer-is-compacted-only-once",
    ),
    pytest.param(
        brought(calls=(CALL,), finish=FinishReason.LENGTH, input_tokens=900),
        (),
        1_000,
        ACCEPTED,
        id="whole-calls-are-worth-keeping",
    ),
]


@pytest.mark.parametrize("attempt, happened, window_tokens, expected", CONTEXT_OVERFLOW)
async def test_a_conversation_that_does_not_fit_is_shortened_once(
    attempt, happened, window_tokens, expected
) -> None:
    policy = ContextOverflow()
    view = view_of(prepared(), *happened, window_tokens=window_tokens)
    await check(policy, attempt, view, expected)


REFUSAL = [
    pytest.param(ANSWER, ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(
        brought("I cannot help with that.", finish=FinishReason.REFUSAL),
        Expected(Fail, StopReason.REFUSAL, ("declined", "I cannot help with that.")),
        id="a-refusal-ends-the-turn-in-its-own-words",
    ),
    pytest.param(
        failed(ProviderFailure.CONTENT_FILTER, "blocked by policy"),
        Expected(Fail, StopReason.REFUSAL, ("blocked by policy",)),
        id="a-filtered-request-ends-the-turn",
    ),
    pytest.param(
        failed(ProviderFailure.CONTENT_FILTER, " ", text="As I was saying"),
        Expected(Fail, StopReason.REFUSAL, ("content filter", "As I was saying")),
        id="a-filter-in-the-middle-keeps-what-came-before",
    ),
    pytest.param(
        failed(ProviderFailure.SERVER), ACCEPTED, id="a-failure-of-the-server-is-no-refusal"
    ),
]


@pytest.mark.parametrize("attempt, expected", REFUSAL)
async def test_a_refusal_is_never_silent(attempt, expected) -> None:
    await check(Refusal(), attempt, view_of(prepared()), expected)


CUT_CALL = brought("Writing it.", cut_calls=(CUT,), finish=FinishReason.LENGTH)
TRUNCATED_CALL = [
    pytest.param(ANSWER, (), ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(
        CUT_CALL,
        (),
        Expected(Reask, says=("output limit", "write_file", "smaller")),
        id="a-cut-call-is-asked-for-in-smaller-pieces",
    ),
    pytest.param(
        brought(calls=(CALL,), cut_calls=(CUT,), finish=FinishReason.LENGTH),
        (),
        Expected(Reask, says=("Nothing of that answer was run",)),
        id="whole-calls-beside-a-cut-one-do-not-run",
    ),
    pytest.param(
        CUT_CALL,
        (recovered("truncated_call", "reask"),) * 2,
        Expected(StepFailed, says=("write_file",)),
        id="the-third-cut-call-fails-the-step",
    ),
    pytest.param(
        failed(ProviderFailure.BROKEN_STREAM), (), ACCEPTED, id="a-broken-stream-is-not-its"
    ),
]


@pytest.mark.parametrize("attempt, happened, expected", TRUNCATED_CALL)
async def test_a_cut_call_never_runs(attempt, happened, expected) -> None:
    policy = TruncatedCall()
    await check(policy, attempt, view_of(prepared(), *happened), expected)


LONG = brought("Once upon a ti", finish=FinishReason.LENGTH)
CONTINUED = recovered("continuation", "continue", text="Go on.", partial="Once ")
CONTINUATION = [
    pytest.param(ANSWER, (), {}, ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(LONG, (), {}, Expected(Continue), id="a-cut-text-is-continued"),
    pytest.param(LONG, (CONTINUED,) * 2, {}, Expected(Continue), id="it-is-continued-three-times"),
    pytest.param(
        LONG, (CONTINUED,) * 3, {}, Expected(Compact), id="then-the-conversation-is-shortened"
    ),
    pytest.param(
        LONG,
        (*(CONTINUED,) * 4, Moved(to=Phase.COMPACT), prepared(2)),
        {},
        Expected(AcceptAsPartial, says=("cut off", "loop.max_output_tokens")),
        id="then-what-there-is-counts",
    ),
    pytest.param(LONG, (), {"max_continuations": 0}, ACCEPTED, id="zero-continues-never"),
    pytest.param(
        brought("x", calls=(CALL,), finish=FinishReason.LENGTH),
        (),
        {},
        ACCEPTED,
        id="an-answer-with-calls-is-not-continued",
    ),
]


@pytest.mark.parametrize("attempt, happened, options, expected", CONTINUATION)
async def test_a_cut_text_is_continued_and_in_the_end_accepted(
    attempt, happened, options, expected
) -> None:
    policy = Continuation(ContinuationOptions(**options))
    await check(policy, attempt, view_of(prepared(), *happened), expected)


async def test_a_conversation_that_is_small_is_not_shortened_for_a_long_answer() -> None:
    happened = (prepared(), *(CONTINUED,) * 3)
    small, large = (view_of(*happened, window_tokens=window) for window in (100_000, 10))
    await check(Continuation(), LONG, small, Expected(AcceptAsPartial))
    await check(Continuation(), LONG, large, Expected(Compact))


THOUGHT = brought(reasoning=" First I would read a.py. ")
TEXT_ONLY = Moved(to=Phase.PREPARE, text_only=True)
THINKING_ONLY = [
    pytest.param(ANSWER, (), ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(
        THOUGHT,
        (),
        Expected(Reask, says=("no visible answer",)),
        id="thinking-alone-is-asked-for-an-answer",
    ),
    pytest.param(
        THOUGHT,
        (recovered("thinking_only", "reask"),),
        Expected(Promote, says=("First I would read a.py.",)),
        id="thinking-alone-again-becomes-the-answer",
    ),
    pytest.param(
        THOUGHT, (CONTINUED,), ACCEPTED, id="a-continued-answer-may-end-in-thinking-alone"
    ),
    pytest.param(
        brought(reasoning="Hm.", calls=(CALL,)),
        (TEXT_ONLY, prepared(2)),
        Expected(Reask),
        id="calls-that-were-forbidden-are-no-answer",
    ),
]


@pytest.mark.parametrize("attempt, happened, expected", THINKING_ONLY)
async def test_thinking_alone_is_asked_for_an_answer_and_then_promoted(
    attempt, happened, expected
) -> None:
    policy = ThinkingOnly()
    await check(policy, attempt, view_of(prepared(), *happened), expected)


NOTHING = brought()
EMPTY = [
    pytest.param(ANSWER, (), ACCEPTED, id="a-good-answer-is-left-alone"),
    pytest.param(CUT_CALL, (), ACCEPTED, id="cut-calls-are-for-another"),
    pytest.param(THOUGHT, (), ACCEPTED, id="thinking-is-for-another"),
    pytest.param(
        NOTHING, (), Expected(Reask, says=("empty",)), id="an-empty-answer-is-asked-for-again"
    ),
    pytest.param(brought(" \n"), (), Expected(Reask), id="blanks-are-empty"),
    pytest.param(
        NOTHING,
        (TEXT_ONLY, prepared()),
        Expected(Reask, says=("Say in words",)),
        id="where-calls-do-not-run-words-are-asked-for",
    ),
    pytest.param(
        NOTHING,
        (recovered("empty", "reask"),) * 2,
        Expected(Promote, says=("an empty answer 3 times in a row",)),
        id="the-third-one-is-accepted-and-said-to-be-empty",
    ),
    pytest.param(NOTHING, (CONTINUED,), ACCEPTED, id="a-continued-answer-may-have-nothing-to-add"),
    pytest.param(
        brought(calls=(CALL,)),
        (TEXT_ONLY, prepared(2)),
        Expected(Reask),
        id="calls-that-were-forbidden-are-no-answer",
    ),
]


@pytest.mark.parametrize("attempt, happened, expected", EMPTY)
async def test_an_empty_answer_is_asked_for_again_and_then_accepted(
    attempt, happened, expected
) -> None:
    policy = Empty()
    await check(policy, attempt, view_of(prepared(), *happened), expected)


ALL = (
    Transport(),
    FatalError(),
    ContextOverflow(),
    Refusal(),
    TruncatedCall(),
    Continuation(),
    ThinkingOnly(),
    Empty(),
)


@pytest.mark.parametrize("failure", list(ProviderFailure))
async def test_every_failure_has_exactly_one_recovery_that_handles_it(failure) -> None:
    verdicts = [await one.judge(failed(failure), view_of(prepared())) for one in ALL]
    assert sum(not isinstance(verdict, Accept) for verdict in verdicts) == 1
