"""Failures from what can be seen of them: classes, patience, and words without secrets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.providers.failures import (
    Symptom,
    classify,
    error_object_symptom,
    explain,
    retry_after_s,
    trouble_of,
)
from agent_ls.providers.symptoms import symptom_of

F = ProviderFailure


def check(symptom: Symptom, *, endpoint: str = "http://there/v1") -> ProviderError:
    """Return the error a symptom ends as."""
    trouble = trouble_of(
        symptom,
        endpoint=endpoint,
        provider="openai",
        secrets=("sk-secret", "sk-proj-aB3dE5fG7hI9jK1l"),
    )
    return explain(trouble, model="openai/x", key_hint="set OPENAI_API_KEY.")


ROWS: list[tuple[str, Symptom, ProviderFailure]] = [
    ("status-wins-over-words", Symptom("rate limit", status=401), F.AUTHENTICATION),
    ("no-words", Symptom("", status=418), F.BAD_REQUEST),
    ("openrouter-name", Symptom("x/y is not a valid model ID", status=400), F.UNKNOWN_MODEL),
    ("deepseek-name", Symptom("Model Not Exist", status=400), F.UNKNOWN_MODEL),
    ("mistral-name", Symptom("Invalid model: x", "invalid_model", status=400), F.UNKNOWN_MODEL),
    ("zai-name", Symptom("Unknown Model, please check the code", status=400), F.UNKNOWN_MODEL),
    ("xai-key", Symptom("Incorrect API key provided: na***ys.", status=400), F.AUTHENTICATION),
    ("old-key", Symptom("API key expired. Please renew it.", status=400), F.AUTHENTICATION),
    ("free-day", Symptom("Rate limit exceeded: free-models-per-day.", status=429), F.NO_CREDIT),
    ("no-billing", Symptom("no plan", "billing_not_active", status=429), F.NO_CREDIT),
    ("any-5xx", Symptom("", status=599), F.SERVER),
    ("no-memory-here", Symptom("model requires more system memory", status=500), F.BAD_REQUEST),
    ("no-jinja-here", Symptom("tools param requires --jinja flag", status=500), F.BAD_REQUEST),
    ("groq-gone", Symptom("It is gone.", "model_decommissioned", status=400), F.UNKNOWN_MODEL),
    ("redirect", Symptom("", status=302), F.BAD_REQUEST),
    ("too-large", Symptom("request entity too large", status=413), F.CONTEXT_OVERFLOW),
    ("google-key", Symptom("API key not valid.", status=400), F.AUTHENTICATION),
    ("quota-that-returns", Symptom("You exceeded your current quota", status=429), F.RATE_LIMITED),
    ("quota-that-does-not", Symptom("insufficient_quota", status=429), F.NO_CREDIT),
    ("no-credit", Symptom("Your credit balance is too low", status=400), F.NO_CREDIT),
    ("payment-required", Symptom("Payment Required", status=402), F.NO_CREDIT),
    ("refused", Symptom("", is_connection=True, causes=("ConnectionRefusedError",)), F.CONNECTION),
    ("read-timeout", Symptom("", is_connection=True, causes=("ReadTimeout",)), F.TIMEOUT),
    ("lost", Symptom("", is_connection=True, causes=("ReadError",)), F.BROKEN_STREAM),
    ("lost-midway", Symptom("", is_connection=True, is_broken=True), F.BROKEN_STREAM),
    ("a-librarys-own-mistake", Symptom("No module named 'x'"), F.BAD_REQUEST),
    ("object-with-status", error_object_symptom({"code": 502, "message": "x"}), F.SERVER),
    ("object-with-type", error_object_symptom({"type": "overloaded_error"}), F.OVERLOADED),
    ("object-that-is-text", error_object_symptom("rate limit reached"), F.RATE_LIMITED),
    ("object-that-says-nothing", error_object_symptom({}), F.BROKEN_STREAM),
    ("object-with-odd-code", error_object_symptom({"code": True}), F.BROKEN_STREAM),
]  # fmt: skip


@pytest.mark.parametrize(
    "symptom, failure", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_each_symptom_has_its_class(symptom: Symptom, failure: ProviderFailure) -> None:
    assert check(symptom).failure is failure
    assert classify(symptom) is failure


@pytest.mark.parametrize(
    ("status", "is_address"), [(200, True), (404, True), (403, False), (502, False), (524, False)]
)
def test_a_page_of_a_proxy_does_not_speak_against_the_address(
    status: int, is_address: bool
) -> None:
    said = str(check(Symptom("<html><title>Just a moment</title>", status=status)))
    assert "(Just a moment)" in said
    assert ("it usually ends in /v1" in said) is is_address


def test_a_model_that_no_provider_of_a_router_serves_like_this_is_not_called_unknown() -> None:
    words = "No endpoints found that support tool use."
    said = str(check(Symptom(words, status=404)))
    assert "has the model x, but refuses this request" in said
    assert words in said


PATIENCE = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ({"retry-after": "-3"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30),
    ({"retry-after": "Wed, 21 Oct 2020 07:28:30 GMT"}, 0),
    ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0.5s"}, 360.5),
    ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"}, None),
    ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
    ({}, None),
]


@pytest.mark.parametrize("headers, seconds", PATIENCE)
def test_patience_is_what_the_provider_asks_for(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(Symptom("x", headers=headers)) == seconds
    assert check(Symptom("x", status=429, headers=headers)).retry_after_s == seconds


WAITS = [
    ("Rate limit reached. Please try again in 13.761s. Visit https://x.", 13.761),
    ("You exceeded your current quota. Please retry in 38.9s.", 38.9),
    ("Please try again in 1m30.5s", 90.5),
    ("Try again in 20 ms", 0.02),
    ("Please wait 12 seconds before the next request", 12),
    ("Please wait before trying again in 30s.", 30),
    ("retry after 2 minutes", 120),
    ("Retried 3 times", None),
    ("Too many requests", None),
]


@pytest.mark.parametrize("words, seconds", WAITS)
def test_patience_is_asked_for_in_words_too(words: str, seconds: float | None) -> None:
    assert retry_after_s(Symptom(words, status=429)) == seconds


@pytest.mark.parametrize(
    "body, seconds",
    [
        (
            {"error": {"code": 429, "message": "Quota exceeded.", "details": [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"}]}},
            38,
        ),
        (
            {"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
                       "plan_type": "plus", "resets_at": 1777936568, "resets_in_seconds": 13872}},
            13_872,
        ),
    ],
)  # fmt: skip
def test_patience_is_asked_for_in_fields_too(body: object, seconds: float) -> None:
    request = httpx.Request("POST", "http://there")
    response = httpx.Response(429, json=body, request=request)
    error = httpx.HTTPStatusError("x", request=request, response=response)
    assert check(symptom_of(error, is_broken=False)).retry_after_s == seconds


OVERFLOWS = tomllib.loads(Path(__file__).with_name("overflows.toml").read_text("utf-8"))["overflow"]


@pytest.mark.parametrize("row", OVERFLOWS, ids=[row["who"] for row in OVERFLOWS])
def test_a_request_that_is_too_long_is_known_in_everybodys_words(row: dict[str, Any]) -> None:
    error = check(Symptom(row["words"], status=row["status"]))
    assert (error.failure, error.window_tokens) == (F.CONTEXT_OVERFLOW, row.get("window"))


LIMITS = [
    (429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28000, Requested 9000."),
    (429, "Too many tokens per day, please wait before trying again."),
    (400, "max_tokens is too large: 200000. This model supports at most 16384 completion tokens"),
    (401, "Your key exceeds the context of its rights"),
]


@pytest.mark.parametrize("status, words", LIMITS)
def test_other_limits_are_no_overflow(status: int, words: str) -> None:
    assert check(Symptom(words, status=status)).failure is not F.CONTEXT_OVERFLOW


NESTED = [
    (
        {"error": {"message": "Provider returned error", "metadata": {"raw":
                   '{"error": {"message": "maximum context length is 9 tokens"}}'}}},
        "maximum context length is 9 tokens",
    ),
    ({"detail": [{"type": "extra_forbidden", "loc": ["body", "tool_choice"], "msg": "Extra"}]},
     "body.tool_choice: Extra"),
    ({"message": '{"message": "inner words"}'}, "inner words"),
    ([{"error": {"code": 400, "message": "in a list"}}], "in a list"),
    ({"error": "only words"}, "only words"),
    ({"error": {"message": "Range should be [1, 9]"}}, "Range should be [1, 9]"),
    ({"error": {"message": "q", "details": [{"retryDelay": "38s"}]}}, "q"),
]  # fmt: skip


@pytest.mark.parametrize("body, words", NESTED)
def test_the_words_of_an_error_are_found_however_deep(body: object, words: str) -> None:
    request = httpx.Request("POST", "http://there")
    response = httpx.Response(400, json=body, request=request)
    error = httpx.HTTPStatusError("x", request=request, response=response)
    assert words in symptom_of(error, is_broken=False).text


WORDS = [
    (Symptom("key sk-secret is wrong", status=401), "key [key] is wrong", "sk-secret"),
    (Symptom("url?key=sk-se***ret", status=401), "url?key=[key]", "sk-se"),
    (Symptom("got sk-proj-****************jK1l", status=401), "got [key]", "jK1l"),
    (Symptom("got sk-...1l", status=401), "got [key]", "1l"),
    (Symptom("begins with sk-proj-aB3dE5", status=401), "begins with [key]", "aB3d"),
    (Symptom("b'c2stcHJvai1hQjNkRTVmRzdoSTlqSzFs'", status=400), "b'[key]'", "c2st"),
    (Symptom("sk%2Dproj-aB3dE5fG7hI9jK1l", status=400), "[key]", "dE5f"),
    (Symptom("<p>&#115;k-secret</p>", status=400), "", "sk-secret"),
    (Symptom("407 of http://me:hush-hush@proxy:3128", status=407), "proxy:3128", "hush"),
    (Symptom("<html><title>Bad &amp; ugly</title>", status=502), "(Bad & ugly)", "<"),
    (Symptom("litellm.APIError: OpenAIException - oops", status=500), "said: oops", "litellm"),
    (Symptom("a\x1b[31mb\x00\nc", status=400), "a [31mb c", "\x1b"),
    (Symptom("x" * 9000, status=400), "…", "x" * 600),
    (Symptom("", status=401), "set OPENAI_API_KEY", "said"),
    (Symptom("", is_connection=True, causes=("gaierror",)), "could not be looked up", "None"),
    (Symptom("", is_connection=True, causes=("ConnectTimeout",)), "nothing answered", "None"),
]


@pytest.mark.parametrize("symptom, present, absent", WORDS)
def test_words_are_fit_to_be_shown(symptom: Symptom, present: str, absent: str) -> None:
    message = check(symptom).message
    assert "http://there/v1" in message
    assert present in message
    assert absent not in message


@pytest.mark.parametrize(
    "provider, endpoint, named",
    [
        ("moonshot", "https://api.moonshot.ai/v1", "https://api.moonshot.cn/v1."),
        ("zai", "https://api.z.ai/api/coding/paas/v4/", "or https://open.bigmodel.cn/api/paas/v4."),
        ("deepseek", "https://api.deepseek.com/v1", ""),
    ],
)
def test_a_refused_key_may_be_of_another_region(provider: str, endpoint: str, named: str) -> None:
    refusal = Symptom("Invalid Authentication", status=401)
    trouble = trouble_of(refusal, endpoint=endpoint, provider=provider, secrets=())
    said = explain(trouble, model=f"{provider}/x", key_hint="set KEY.").message
    assert said.endswith(named or "set KEY.")
    assert ("another region" in said) is bool(named)


def test_a_proxy_that_may_not_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:hunter2secret@127.0.0.1:3128")
    refused = Symptom("", is_connection=True, causes=("ConnectionRefusedError",))
    said = check(refused, endpoint="https://api.openai.com/v1").message
    assert said.endswith("Or the proxy in HTTPS_PROXY does not answer.")
    assert "hunter2secret" not in said
    monkeypatch.setenv("NO_PROXY", "localhost, .openai.com")
    assert "proxy" not in check(refused, endpoint="https://api.openai.com/v1").message
    for endpoint in ("http://there/v1", "https://127.0.0.1:1/v1"):
        assert "proxy" not in check(refused, endpoint=endpoint).message


@pytest.mark.parametrize("failure", ProviderFailure)
def test_each_class_has_words(failure: ProviderFailure) -> None:
    trouble = trouble_of(Symptom("why"), endpoint="", provider="", secrets=())
    error = explain(
        trouble.model_copy(update={"failure": failure.value}), model="m/x", key_hint="do that."
    )
    assert error.failure is failure
    assert len(error.message) > 2


def test_a_long_body_costs_no_more_than_its_length() -> None:
    """Where each character began a search to the end, one such body took minutes."""
    error = check(Symptom("x" * 65_536 + " sk-secret", status=400))
    assert len(error.message) < 1_000
