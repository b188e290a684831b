"""Failures from what can be seen of them: classes, patience, and words without secrets."""

from __future__ import annotations

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

F = ProviderFailure


def check(symptom: Symptom, *, endpoint: str = "http://there/v1") -> ProviderError:
    """Return the error a symptom ends as."""
    trouble = trouble_of(symptom, endpoint=endpoint, provider="openai", secret="sk-secret")
    return explain(trouble, model="openai/x", key_hint="set OPENAI_API_KEY.")


ROWS: list[tuple[str, Symptom, ProviderFailure]] = [
    ("status-wins-over-words", Symptom("rate limit", status=401), F.AUTHENTICATION),
    ("no-words", Symptom("", status=418), F.BAD_REQUEST),
    ("any-5xx", Symptom("", status=599), F.SERVER),
    ("redirect", Symptom("", status=302), F.BAD_REQUEST),
    ("too-large", Symptom("request entity too large", status=413), F.CONTEXT_OVERFLOW),
    ("google-key", Symptom("API key not valid.", status=400), F.AUTHENTICATION),
    ("quota-that-returns", Symptom("You exceeded your current quota", status=429), F.RATE_LIMITED),
    ("quota-that-does-not", Symptom("insufficient_quota", status=429), F.FORBIDDEN),
    ("no-credit", Symptom("Your credit balance is too low", status=400), F.FORBIDDEN),
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


PATIENCE = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.5"}, 0.5),
    ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ({"retry-after": "-3"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    ({}, None),
]


@pytest.mark.parametrize("headers, seconds", PATIENCE)
def test_patience_is_what_the_provider_asks_for(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers) == seconds
    assert check(Symptom("x", status=429, headers=headers)).retry_after_s == seconds


WORDS = [
    (Symptom("key sk-secret is wrong", status=401), "key [key] is wrong", "sk-secret"),
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


@pytest.mark.parametrize("failure", ProviderFailure)
def test_each_class_has_words(failure: ProviderFailure) -> None:
    trouble = trouble_of(Symptom("why"), endpoint="", provider="", secret=None)
    error = explain(
        trouble.model_copy(update={"failure": failure.value}), model="m/x", key_hint="do that."
    )
    assert error.failure is failure
    assert len(error.message) > 2
