"""After an attempt: what is accepted, asked again, waited for, and given up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent_ls.catalogue import RECOVERIES
from agent_ls.domain.errors import RETRYABLE, ProviderError, ProviderFailure
from agent_ls.domain.events import Event, Moved
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
    RecoveryVerdict,
    Retry,
    StepFailed,
    SwitchModel,
)
from agent_ls.loop.extension_points import Attempt, Recovery
from agent_ls.loop.options import ModelOptions
from agent_ls.policies.recoveries.printed_edits import PrintedEdits
from agent_ls.policies.recoveries.transport import Transport, TransportOptions
from agent_ls.workspace.disk import DiskWorkspace
from tests.policies.views import Expected, call_of, prepared, recovered, said, view_of

CALL = call_of("read_file", '{"path": "a.py"}')
CUT = call_of("write_file", '{"path": "a.py", "text": "de')
FAILURE = ProviderFailure
TRANSPORT = Transport()


def brought(text: str = "", **facts: Any) -> Attempt:
    """Return an attempt that ended cleanly."""
    usage = Usage(input_tokens=facts.pop("input_tokens", 10), output_tokens=5)
    whole = Attempt(text, "", (), (), FinishReason.STOP, None, usage)
    return replace(whole, **facts)


def failed(failure: ProviderFailure, message: str = "no luck", **facts: Any) -> Attempt:
    """Return an attempt that broke."""
    text = facts.pop("text", "")
    return Attempt(text, "", (), (), None, ProviderError(failure, message, **facts), Usage())


def made(part: type[Recovery]) -> Recovery:
    """Return a recovery with its defaults."""
    return PrintedEdits(DiskWorkspace([])) if part is PrintedEdits else part()


async def check(
    attempt: Attempt,
    happened: tuple[Event, ...],
    expected: Expected,
    *,
    window_tokens: int = 0,
    transport: Transport = TRANSPORT,
) -> None:
    """Assert what the first recovery that acts says, asked in order as the machine asks them."""
    view = view_of(prepared(), *happened, window_tokens=window_tokens)
    verdict: RecoveryVerdict = Accept()
    for part in RECOVERIES:
        policy = transport if part is Transport else made(part)
        verdict = await policy.judge(attempt, view)
        assert await policy.judge(attempt, view) == verdict, "asking twice changes nothing"
        if not isinstance(verdict, Accept):
            break
    expected.hold(verdict)


RETRIED = recovered("transport", "retry")
CONTINUED = recovered("continuation", "continue", text="Go on.", partial="Once ")
COMPACTED = (
    recovered("context_overflow", "compact"),
    Moved(to=Phase.COMPACT),
    Moved(to=Phase.CHECK),
    prepared(2),
)
TEXT_ONLY = (Moved(to=Phase.PREPARE, text_only=True), prepared(2))
OVERFLOW = failed(FAILURE.CONTEXT_OVERFLOW, "maximum context length is 8192")
CUT_CALL = brought("Writing it.", cut_calls=(CUT,), finish=FinishReason.LENGTH)
LONG = brought("Once upon a ti", finish=FinishReason.LENGTH)
FULL = replace(LONG, usage=Usage(input_tokens=800, output_tokens=5))
THOUGHT = brought(reasoning=" First I would read a.py. ")
NOTHING = brought()
ENDS = Expected(Fail, StopReason.ERROR)
ROWS = {
    "a-good-answer-is-left-alone": (brought("Faster now."), (), Expected(Accept)),
    "the-fifth-try-is-made": (failed(FAILURE.SERVER), (RETRIED,) * 3, Expected(Retry)),
    "after-the-fifth-try-the-turn-ends": (
        failed(FAILURE.SERVER, "boom"),
        (RETRIED,) * 4,
        Expected(Fail, StopReason.ERROR, ("boom.", "5 tries", "prompt again")),
    ),
    "an-answer-sets-the-count-back": (
        failed(FAILURE.SERVER),
        (*(RETRIED,) * 4, said("x"), prepared(2)),
        Expected(Retry, says=("(2 of 5)",)),
    ),
    "a-wrong-key-ends-the-turn-and-says-where-to-look": (
        failed(FAILURE.AUTHENTICATION, "No key for acme", status=401),
        (),
        Expected(Fail, StopReason.ERROR, ("No key for acme. `agent-ls doctor`",)),
    ),
    "a-missing-key-too": (
        failed(FAILURE.NO_KEY, "There is no key for acme"),
        (),
        Expected(Fail, StopReason.ERROR, ("There is no key for acme. `agent-ls doctor`",)),
    ),
    "an-empty-account-is-told-once": (
        failed(FAILURE.NO_CREDIT, "no credit left", status=429),
        (),
        Expected(Fail, StopReason.ERROR, ("no credit left. Add credit there",)),
    ),
    "no-model-says-it-all": (
        failed(FAILURE.NO_MODEL, "No model is set."),
        (),
        Expected(Fail, StopReason.ERROR, ("No model is set.",)),
    ),
    "a-bad-request-ends-the-turn": (
        failed(FAILURE.BAD_REQUEST, "temperature must be 1"),
        (),
        Expected(Fail, StopReason.ERROR, ("temperature must be 1. Take the option", "settings")),
    ),
    "a-refusal-of-images-is-sent-again-without-them": (
        failed(FAILURE.NO_IMAGES, "m takes no images"),
        (),
        Expected(Reask, says=("m takes no images. From here on only their names",)),
    ),
    "an-image-that-cannot-be-used-is-left-out": (
        failed(FAILURE.BAD_IMAGE, "Could not process image"),
        (recovered("refused_images", "reask"),) * 2,
        Expected(Reask, says=("Of all images so far only the names",)),
    ),
    "a-refusal-of-images-that-never-ends-ends-the-turn": (
        failed(FAILURE.BAD_IMAGE, "Could not process image"),
        (recovered("refused_images", "reask"),) * 3,
        Expected(Fail, StopReason.ERROR, ("Could not process image.",)),
    ),
    "an-overflow-is-compacted": (OVERFLOW, (), Expected(Compact)),
    "an-overflow-after-a-compaction-ends-the-turn": (
        OVERFLOW,
        COMPACTED,
        Expected(Fail, StopReason.CONTEXT_FULL, ("new session",)),
    ),
    "a-cut-answer-with-a-full-window-compacts": (FULL, (), Expected(Compact)),
    "a-cut-answer-is-compacted-only-once": (FULL, COMPACTED, Expected(Continue)),
    "whole-calls-are-worth-keeping": (replace(FULL, calls=(CALL,)), (), Expected(Accept)),
    "a-filtered-request-ends-the-turn": (
        failed(FAILURE.CONTENT_FILTER, "blocked by policy"),
        (),
        Expected(Fail, StopReason.REFUSAL, ("blocked by policy",)),
    ),
    "a-filter-in-the-middle-keeps-what-came-before": (
        failed(FAILURE.CONTENT_FILTER, " ", text="As I was saying"),
        (),
        Expected(Fail, StopReason.REFUSAL, ("content filter", "As I was saying")),
    ),
    "whole-calls-beside-a-cut-one-do-not-run": (
        replace(CUT_CALL, calls=(CALL,)),
        (),
        Expected(Reask, says=("write_file", "Nothing of that answer was run")),
    ),
    "the-third-cut-call-fails-the-step": (
        CUT_CALL,
        (recovered("truncated_call", "reask"),) * 2,
        Expected(StepFailed, says=("write_file",)),
    ),
    "a-text-is-continued-three-times": (LONG, (CONTINUED,) * 2, Expected(Continue)),
    "then-what-there-is-counts": (
        LONG,
        (*(CONTINUED,) * 4, Moved(to=Phase.COMPACT), prepared(2)),
        Expected(AcceptAsPartial, says=("cut off", "loop.max_output_tokens")),
    ),
    "a-continued-answer-may-end-in-thinking-alone": (THOUGHT, (CONTINUED,), Expected(Accept)),
    "thinking-where-calls-are-forbidden-is-no-answer": (
        replace(THOUGHT, calls=(CALL,)),
        TEXT_ONLY,
        Expected(Reask),
    ),
    "blanks-are-empty": (brought(" \n"), (), Expected(Reask, says=("empty",))),
    "where-calls-do-not-run-words-are-asked-for": (
        brought(calls=(CALL,)),
        TEXT_ONLY,
        Expected(Reask, says=("Say in words",)),
    ),
    "the-third-empty-answer-is-accepted-and-said-to-be-empty": (
        NOTHING,
        (recovered("empty", "reask"),) * 2,
        Expected(Promote, says=("an empty answer 3 times in a row",)),
    ),
    "a-continued-answer-may-have-nothing-to-add": (NOTHING, (CONTINUED,), Expected(Accept)),
}


@pytest.mark.parametrize("attempt, happened, expected", ROWS.values(), ids=ROWS)
async def test_each_bad_attempt_is_dealt_with(attempt, happened, expected) -> None:
    await check(attempt, happened, expected, window_tokens=1_000 if attempt.finish else 0)


@pytest.mark.parametrize("failure", list(FAILURE))
async def test_every_failure_has_exactly_one_recovery_that_handles_it(failure) -> None:
    verdicts = [await made(one).judge(failed(failure), view_of(prepared())) for one in RECOVERIES]
    [acting] = (one for one in verdicts if not isinstance(one, Accept))
    assert isinstance(acting, Retry) is (failure in RETRYABLE)


@pytest.mark.parametrize(
    ("window_tokens", "verdict"), [(100_000, AcceptAsPartial), (10, Compact)], ids=["small", "full"]
)
async def test_a_conversation_that_is_small_is_not_shortened(window_tokens, verdict) -> None:
    await check(LONG, (CONTINUED,) * 3, Expected(verdict), window_tokens=window_tokens)


HEARD = (said("x"), prepared(2))


@pytest.mark.parametrize(
    ("failure", "happened", "verdict"),
    [
        pytest.param(FAILURE.TIMEOUT, (), Fail, id="a-silence-is-waited-for-once"),
        pytest.param(FAILURE.TIMEOUT, HEARD, Fail, id="later-in-the-turn-too"),
        pytest.param(FAILURE.CONNECTION, (), Fail, id="what-is-not-there-is-not-asked-again"),
        pytest.param(FAILURE.CONNECTION, HEARD, Retry, id="what-has-answered-may-come-back"),
    ],
)
async def test_what_would_only_take_as_long_again_is_asked_once(failure, happened, verdict) -> None:
    attempt = failed(failure, "It is silent.", is_lasting=True)
    await check(attempt, happened, Expected(verdict, says=("It is silent.",)))
    expected = SwitchModel if verdict is Fail else Retry
    await check(attempt, happened, Expected(expected), transport=WITH_FALLBACK)


WITH_FALLBACK = Transport(models=ModelOptions(fallback="acme/small"))
SWITCHED = recovered("transport", "switch_model", model="acme/small")
FALLBACK = {
    "asked": ((RETRIED,) * 4, Expected(SwitchModel, says=("5 tries. Asking acme/small instead.",))),
    "has-tries-of-its-own": ((*(RETRIED,) * 4, SWITCHED), Expected(Retry)),
    "then-the-turn-ends": ((*(RETRIED,) * 4, SWITCHED, *(RETRIED,) * 4), ENDS),
    "has-no-fallback-itself": ((*(RETRIED,) * 4, SWITCHED, *HEARD, *(RETRIED,) * 4), ENDS),
}


@pytest.mark.parametrize("happened, expected", FALLBACK.values(), ids=FALLBACK)
async def test_when_the_tries_are_used_up_the_fallback_model_is_asked(happened, expected) -> None:
    await check(failed(FAILURE.OVERLOADED), happened, expected, transport=WITH_FALLBACK)


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        ({"other": {"tries": 1}}, Expected(Retry)),
        ({"acme": {"tries": 1}}, ENDS),
        ({"acme": {"first_wait_s": 7, "jitter": 0}}, Expected(Retry, says=("in 7 s (2 of 5)",))),
    ],
)
async def test_a_provider_may_have_numbers_of_its_own(providers, expected) -> None:
    policy = Transport(TransportOptions.model_validate({"providers": providers}))
    await check(failed(FAILURE.SERVER), (), expected, transport=policy)


@pytest.mark.parametrize(
    ("retried", "retry_after_s", "least_s", "most_s"),
    [
        pytest.param(0, None, 1.5, 2.0, id="the-first-wait-is-about-two-seconds"),
        pytest.param(1, None, 3.0, 4.0, id="the-wait-doubles"),
        pytest.param(5_000, None, 22.5, 30.0, id="the-wait-never-exceeds-thirty-seconds"),
        pytest.param(4, 60.0, 60.0, 60.0, id="retry-after-is-honoured"),
        pytest.param(0, 300.0, 300.0, 300.0, id="a-long-retry-after-is-honoured-too"),
        pytest.param(0, float("nan"), 1.5, 2.0, id="a-retry-after-that-is-no-number-is-ignored"),
    ],
)
async def test_waits_grow_and_stay_within_bounds(retried, retry_after_s, least_s, most_s) -> None:
    policy = Transport(TransportOptions(tries=10_000))
    attempt = failed(FAILURE.RATE_LIMITED, retry_after_s=retry_after_s)
    verdict = await policy.judge(attempt, view_of(prepared(), *[RETRIED] * retried))
    assert isinstance(verdict, Retry)
    assert least_s <= verdict.after_s <= most_s


async def test_jitter_differs_between_steps_and_is_the_same_for_the_same_try() -> None:
    policy, attempt = Transport(), failed(FAILURE.SERVER)
    waits = [await policy.judge(attempt, view_of(prepared(step))) for step in range(1, 21)]
    again = [await policy.judge(attempt, view_of(prepared(step))) for step in range(1, 21)]
    assert waits == again
    assert len({verdict.after_s for verdict in waits if isinstance(verdict, Retry)}) > 10
