"""Maps every failure of a model request to a ``ProviderFailure`` and a message for the user.

``classify`` runs in the model host, on the facts that ``symptoms`` reads from an exception.
``explain`` runs in the server, which knows where keys are configured. Imports no model library.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.sentences import sentence
from agent_ls.providers.dialects import (
    ADDRESSES,
    NEVER,
    OTHER_ADDRESSES,
    image_refusal,
    is_overflow,
    seconds_in,
    wait_in,
    window_in,
)
from agent_ls.providers.frames import Trouble
from agent_ls.providers.shapes import as_object, as_text
from agent_ls.providers.sign_ins import sign_in_of
from agent_ls.safety.addresses import is_loopback
from agent_ls.safety.keys import without_keys
from agent_ls.safety.secrets import mask

_DETAIL_CHARACTERS: Final = 500
_MOST_MODELS: Final = 10
"""So many of a server's models are named, those with a similar name first."""

_BY_STATUS: Final = {
    400: ProviderFailure.BAD_REQUEST,
    401: ProviderFailure.AUTHENTICATION,
    402: ProviderFailure.NO_CREDIT,
    403: ProviderFailure.FORBIDDEN,
    404: ProviderFailure.UNKNOWN_MODEL,
    408: ProviderFailure.TIMEOUT,
    413: ProviderFailure.CONTEXT_OVERFLOW,
    422: ProviderFailure.BAD_REQUEST,
    429: ProviderFailure.RATE_LIMITED,
    502: ProviderFailure.SERVER,
    503: ProviderFailure.OVERLOADED,
    504: ProviderFailure.TIMEOUT,
    529: ProviderFailure.OVERLOADED,
}

_UNWANTED: Final = (
    r"content[_ ]?(?:filter|policy|management)|responsibleai|data_?inspection_?failed"
    r"|unsafe or sensitive content|敏感内容"
)
# Patterns in error types, codes and texts that tell more than the status; the first match wins.
_BY_WORDS: Final = (
    (ProviderFailure.NO_CREDIT, NEVER),
    # The model may write a better call, and the server load it again, for another request.
    (ProviderFailure.SERVER, r"tool_use_failed|model has crashed"),
    (ProviderFailure.CONTENT_FILTER, _UNWANTED),
    (
        ProviderFailure.AUTHENTICATION,
        r"authentication|invalid[_ ]api[_ ]key|api key not valid|api_key client option"
        r"|incorrect api key|api[_ ]key[_ ](?:expired|invalid)",
    ),
    (ProviderFailure.FORBIDDEN, r"permission[_ ]?(?:denied|error)"),
    (ProviderFailure.RATE_LIMITED, r"rate[_ ]?limit|too many requests"),
    (ProviderFailure.OVERLOADED, r"overloaded|serviceunavailable|at capacity"),
    (
        ProviderFailure.UNKNOWN_MODEL,
        r"model[_ ]not[_ ](?:found|exist|supported)|llm provider not provided|not_?found"
        r"|model.{0,80} does not exist|not a valid model|invalid[_ ]model\b|unknown model"
        r"|model_decommissioned|model identifier is invalid"
        r"|模型不存在",
    ),
    (ProviderFailure.SERVER, r"server_error|internal[_ ]?server|api_error"),
    (ProviderFailure.BAD_REQUEST, r"invalid_request|badrequest|unsupportedparams"),
)
_KEY_STATUS: Final = frozenset({401, 403})
_TOO_LARGE: Final = 413
_NO_SUCH_PLACE: Final = frozenset({404, 405})
_ABOUT_TOKENS: Final = re.compile(r"token|context", re.IGNORECASE)
_AMBIGUOUS_STATUS: Final = frozenset({400, 413, 422})
_BEFORE_STATUS: Final = (
    # litellm's text, with a status of its own, for a Responses stream that was cut off.
    (ProviderFailure.BROKEN_STREAM, "before any terminal event"),
    # What a server on this machine says with 500 although asking again does not help.
    (ProviderFailure.BAD_REQUEST, r"requires more system memory|requires --jinja"),
)
"""Words that tell more than any status."""
REDIRECTED: Final = "redirects to"
_PAGE: Final = re.compile(r"<!doctype html|<html", re.IGNORECASE)
_NO_ENDPOINT: Final = re.compile(r"no endpoints (?:found|available)", re.IGNORECASE)
"""A router's words for a model that none of its providers serves as it was asked for."""
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_LIBRARY_WORDS: Final = re.compile(
    r"^(?:litellm\.)?\w*(?:Error|Exception): |^\w+Exception - |\.? Handle with `litellm\.\w+`\.?$"
)
_LOST: Final = frozenset(
    {"ReadError", "WriteError", "CloseError", "RemoteProtocolError", "DecodingError"}
)
_LASTING: Final = frozenset(
    {
        "gaierror",
        "SSLError",
        "SSLCertVerificationError",
        "ConnectTimeout",
        "TimeoutError",
        "UnusableProxy",
    }
)
"""Causes of a failed connection that a retry after seconds does not fix."""
_TIMEOUTS: Final = frozenset({"ReadTimeout", "PoolTimeout", "WriteTimeout", "APITimeoutError"})


@dataclass(frozen=True, slots=True)
class Symptom:
    """The facts of a failed request."""

    text: str
    """The error's message, or the body."""
    kind: str = ""
    """Class name of the exception."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case."""
    causes: tuple[str, ...] = ()
    """Class names of the exceptions behind it, nearest first."""
    is_broken: bool = False
    """The answer had begun."""
    is_connection: bool = False
    """The transport failed before the response was complete."""
    has_images: bool = False
    """The request had images."""


def classify(symptom: Symptom) -> ProviderFailure:
    """Return the ``ProviderFailure`` of a failed request."""
    by_status = _by_status(symptom.status)
    if symptom.has_images and (refusal := image_refusal(f"{symptom.kind} {symptom.text}")):
        return refusal
    is_too_large = symptom.status == _TOO_LARGE and not _ABOUT_TOKENS.search(symptom.text)
    if symptom.has_images and is_too_large:
        # Bytes are counted, and images are most of them: a summary would help little.
        return ProviderFailure.BAD_IMAGE
    if symptom.status not in _KEY_STATUS and is_overflow(f"{symptom.kind} {symptom.text}"):
        return ProviderFailure.CONTEXT_OVERFLOW
    if (told := _by_words(symptom.text, _BEFORE_STATUS)) is not None:
        return told
    is_busy = symptom.status == 429 or (symptom.status or 0) >= 500
    if is_busy and re.search(NEVER, f"{symptom.kind} {symptom.text}".lower()):
        # Some providers send 429, and MiniMax 500, when the credit is used up. Waiting does not
        # help then.
        return ProviderFailure.NO_CREDIT
    if by_status is not None and symptom.status not in _AMBIGUOUS_STATUS:
        return by_status
    if symptom.is_connection:
        return _transport(symptom)
    by_words = _by_words(f"{symptom.kind} {symptom.text}")
    if by_words is not None:
        return by_words
    if by_status is not None:
        return by_status
    return ProviderFailure.BROKEN_STREAM if symptom.is_broken else ProviderFailure.BAD_REQUEST


def error_object_symptom(error: object) -> Symptom:
    """Return the facts in an error object that came inside a successful response."""
    fields = as_object(error)
    code, kind = fields.get("code"), as_text(fields.get("type"))
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    status = code if isinstance(code, int) and 400 <= code <= 599 else None
    message = as_text(fields.get("message")) or str(error)
    words = " ".join(word for word in (kind, as_text(fields.get("code"))) if word)
    return Symptom(message, kind=words, status=status, is_broken=True)


def trouble_of(
    symptom: Symptom, *, endpoint: str, provider: str, secrets: Iterable[str]
) -> Trouble:
    """Return the failure's report for the server, with the keys masked."""
    target = symptom.headers.get("location")
    is_redirect = target and symptom.status in range(300, 400)
    text = f"{REDIRECTED} {target}" if is_redirect else symptom.text
    failure = classify(symptom)
    is_too_long = failure is ProviderFailure.CONTEXT_OVERFLOW
    window_tokens = window_in(f"{symptom.text} {symptom.kind}") if is_too_long else None
    return Trouble(
        failure=failure.value,
        detail=clean(text, secrets, symptom.status),
        status=symptom.status,
        retry_after_s=retry_after_s(symptom),
        window_tokens=window_tokens,
        endpoint=endpoint,
        provider=provider,
        cause=symptom.causes[-1] if symptom.causes else symptom.kind,
    )


def retry_after_s(symptom: Symptom) -> float | None:
    """Return the seconds the provider asks to wait, by its headers or its words; None: neither."""
    headers = symptom.headers
    waits = (
        _seconds(headers.get("retry-after-ms", ""), 0.001),
        _seconds(headers.get("retry-after", "")),
        _until(headers.get("retry-after", ""), headers),
        wait_in(f"{symptom.text} {symptom.kind}"),
        *(_seconds(headers.get(name, "")) for name in _reset_headers(headers)),
    )
    return next((wait_s for wait_s in waits if wait_s is not None), None)


def _seconds(text: str, scale: float = 1.0) -> float | None:
    """Return the seconds of a number or of a duration such as ``6m0s``."""
    try:
        seconds = float(text) * scale
    except ValueError:
        return seconds_in(text.strip())
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(text: str, headers: Mapping[str, str]) -> float | None:
    """Return the seconds until an HTTP date, by the server's clock if it told its time."""
    try:
        until = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _reset_headers(headers: Mapping[str, str]) -> list[str]:
    """Return the names of the headers that tell when a limit that is used up begins anew."""
    left = "x-ratelimit-remaining-"
    used_up = [name for name, value in headers.items() if name.startswith(left) and value == "0"]
    return [name.replace("remaining", "reset", 1) for name in used_up]


def explain(trouble: Trouble, *, model: str, key_hint: str) -> ProviderError:
    """Return the error to raise: what happened, where, and what to do next."""
    failure = ProviderFailure(trouble.failure)
    sign_in = sign_in_of(model.partition("/")[0])
    if sign_in and failure is ProviderFailure.AUTHENTICATION:
        failure = ProviderFailure.NOT_SIGNED_IN
    # An address may hold a password.
    where = mask(trouble.endpoint) or (sign_in.title if sign_in else trouble.provider) or model
    said = f" It said: {sentence(trouble.detail)}" if trouble.detail else ""
    texts = {
        ProviderFailure.RATE_LIMITED: f"{where} limits how often {model} may be asked.{said}",
        ProviderFailure.OVERLOADED: f"{where} is overloaded.{said}",
        ProviderFailure.SERVER: f"{where} failed with status {trouble.status or 500}.{said}",
        ProviderFailure.CONNECTION: _no_connection(trouble, where),
        ProviderFailure.TIMEOUT: f"{where} took too long. {trouble.detail}",
        ProviderFailure.BROKEN_STREAM: f"The answer of {where} broke off: {trouble.detail}",
        ProviderFailure.HOST_DIED: trouble.detail,
        ProviderFailure.AUTHENTICATION: f"{where} does not accept the key for {model}.{said} To "
        f"mend it, {key_hint}{_other_addresses(trouble)}",
        ProviderFailure.NO_KEY: trouble.detail,
        ProviderFailure.NOT_SIGNED_IN: f"{where} does not accept the sign-in for {model}.{said} To "
        f"mend it, {key_hint}",
        ProviderFailure.FORBIDDEN: f"{where} refuses {model} for this account (rights, region or "
        f"credit).{said}",
        ProviderFailure.NO_CREDIT: f"The account at {where} has no credit left for {model}.{said}",
        ProviderFailure.BAD_REQUEST: _bad_request(trouble, where, said),
        ProviderFailure.UNKNOWN_MODEL: _unknown_model(trouble, model, where, said),
        ProviderFailure.NO_MODEL: trouble.detail,
        ProviderFailure.CONTEXT_OVERFLOW: f"The conversation is too long for {model}.{said}",
        ProviderFailure.CONTENT_FILTER: f"{where} stopped at its content filter.{said}",
        ProviderFailure.NO_IMAGES: f"{model} takes no images.{said}",
        ProviderFailure.BAD_IMAGE: _bad_image(trouble, where, said),
    }
    return ProviderError(
        failure,
        texts[failure].strip(),
        retry_after_s=trouble.retry_after_s,
        window_tokens=trouble.window_tokens,
        status=trouble.status,
        is_lasting=_is_lasting(failure, trouble),
    )


def _is_lasting(failure: ProviderFailure, trouble: Trouble) -> bool:
    if failure is ProviderFailure.TIMEOUT:
        # Without a status our own time limit passed; with one the endpoint does answer.
        return trouble.status is None
    if failure is not ProviderFailure.CONNECTION:
        return False
    is_refused_here = trouble.cause == "ConnectionRefusedError" and is_loopback(trouble.endpoint)
    return is_refused_here or trouble.cause in _LASTING


def _by_status(status: int | None) -> ProviderFailure | None:
    if status is None or status < 300:
        return None
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return ProviderFailure.SERVER if status >= 500 else ProviderFailure.BAD_REQUEST


def _by_words(
    text: str, rows: Sequence[tuple[ProviderFailure, str]] = _BY_WORDS
) -> ProviderFailure | None:
    lowered = text.lower()
    return next((failure for failure, words in rows if re.search(words, lowered)), None)


def _transport(symptom: Symptom) -> ProviderFailure:
    seen = {symptom.kind, *symptom.causes}
    if symptom.is_broken or seen & _LOST:
        return ProviderFailure.BROKEN_STREAM
    return ProviderFailure.TIMEOUT if seen & _TIMEOUTS else ProviderFailure.CONNECTION


def clean(text: str, secrets: Iterable[str], status: int | None = None) -> str:
    """Return a provider's text for display: short, without HTML, key or control characters."""
    if _PAGE.search(text):
        title = _TITLE.search(text)
        words = html.unescape(title[1]) if title else "no title"
        text = f"a web page, not an API answer ({words.strip()})"
        # With any other status a proxy or a filter on the way wrote it.
        if status is None or status < 300 or status in _NO_SUCH_PLACE:
            text += "; the address is probably wrong: it usually ends in /v1"
    # The rest is never shown.
    text = text.strip()[: 8 * _DETAIL_CHARACTERS]
    while (shorter := _LIBRARY_WORDS.sub("", text)) != text:
        text = shorter
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    text = mask(without_keys(text, secrets))
    return text if len(text) <= _DETAIL_CHARACTERS else text[: _DETAIL_CHARACTERS - 1] + "…"


def _other_addresses(trouble: Trouble) -> str:
    """Return where keys of another region or plan are accepted; empty for most providers."""
    known = OTHER_ADDRESSES.get(trouble.provider, ())
    usual = ADDRESSES.get(trouble.provider, "")
    others = [one for one in (usual, *known) if one != trouble.endpoint.rstrip("/")]
    if not known:
        return ""
    return (
        " A key of another region or plan needs its own address: set `provider.api_base` to "
        f"{' or '.join(others)}."
    )


def _no_connection(trouble: Trouble, where: str) -> str:
    reasons = {
        "ConnectTimeout": "nothing answered in time",
        "TimeoutError": "nothing answered in time",
        "ConnectionRefusedError": "the connection was refused",
        "gaierror": "its name could not be looked up",
        "SSLCertVerificationError": f"its certificate could not be verified ({trouble.detail}). If "
        "your network has certificates of its own, set SSL_CERT_FILE to the file that holds them",
        "SSLError": f"no secure connection came about ({trouble.detail})",
    }
    reason = reasons.get(trouble.cause, trouble.detail or "no connection")
    return (
        f"Cannot reach {where}: {reason.rstrip('.')}. Check that the address is right, that the "
        f"server is running, and that this machine may connect to it.{_about_proxy(trouble)}"
    )


def _about_proxy(trouble: Trouble) -> str:
    """Return which proxy may be what does not answer; empty if none is set for the endpoint."""
    place = urlsplit(trouble.endpoint)
    names = (f"{place.scheme or 'https'}_proxy", "all_proxy")
    found = next((name for name in os.environ if name.lower() in names and os.environ[name]), "")
    past = (os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or "").split(",")
    suffixes = tuple(f".{one.strip().lstrip('.')}" for one in past if one.strip())
    is_past = "*" in past or f".{place.hostname or ''}".endswith(suffixes)
    if not found or is_past or is_loopback(trouble.endpoint):
        return ""
    # The address may hold a password.
    return f" Or the proxy in {found} does not answer."


def _bad_image(trouble: Trouble, where: str, said: str) -> str:
    if trouble.status == _TOO_LARGE:
        return f"The images of the conversation make the request too large for {where}.{said}"
    return f"{where} cannot use an image of the conversation.{said}"


def _bad_request(trouble: Trouble, where: str, said: str) -> str:
    if trouble.detail.startswith(REDIRECTED):
        return (
            f"{where} {trouble.detail}, and redirects are not followed, so that the key goes to no "
            "other address. If that is the right one, set `provider.api_base` to it."
        )
    return f"{where} cannot use the request.{said}"


def _unknown_model(trouble: Trouble, model: str, where: str, said: str) -> str:
    name = model.removeprefix(f"{trouble.provider}/").removeprefix("ollama/")
    is_listed = {name, f"{name}:latest"} & {*trouble.models}
    if trouble.models and not is_listed:
        return f"{where} does not have the model {name}. {_other_models(trouble, name)}"
    if trouble.is_ollama and not is_listed:
        return (
            f"{where} does not have the model {name}.{said} `ollama list` shows the models that it "
            f"has, and `ollama pull {name}` gets this one."
        )
    if _NO_ENDPOINT.search(trouble.detail):
        return f"{where} has the model {name}, but refuses this request.{said}"
    unknown = f"{where} does not know the model {model!r}.{said}"
    if not trouble.provider:
        unknown = f"The model {model!r} names no provider that is known."
        if trouble.endpoint:
            to_set = f"set `model` (AGENT_LS_MODEL) to openai/{model}"
            return f"{unknown} To ask {where} for it, {to_set}."
    if trouble.near:
        return (
            f"{unknown} Did you mean {' or '.join(trouble.near)}? `agent-ls models` lists those "
            "that you can use."
        )
    return (
        f"{unknown} Name a model as provider/name, for "
        "example anthropic/claude-sonnet-5-5, ollama_chat/qwen3 or, for any OpenAI-compatible "
        "server, openai/NAME together with its address, which usually ends in /v1."
    )


def _other_models(trouble: Trouble, name: str) -> str:
    """Return which models the server has, how to set one, and how to get the one that it lacks."""
    near = get_close_matches(name, trouble.models, _MOST_MODELS, cutoff=0.5)
    models = [*near, *(one for one in trouble.models if one not in near)]
    more = len(models) - _MOST_MODELS
    shown = ", ".join(models[:_MOST_MODELS]) + (f" and {more} more" if more > 0 else "")
    one = f"{trouble.provider}/{models[0]}"
    get = f" To get {name}: `ollama pull {name}`." if trouble.is_ollama else ""
    return f"It has: {shown}. Set `model` (AGENT_LS_MODEL) to {one}, for example.{get}"
