"""Reads the facts of a failed request from its exception, without importing litellm or httpx.

litellm's exceptions wrap each other and invent status codes. Reliable is what the exception chain
holds: the HTTP response if there was one, else the transport's own error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from agent_ls.providers.failures import Symptom
from agent_ls.providers.shapes import as_list, as_object, as_text

_DEEPEST = 20
_DEEPEST_JSON = 8
_MAX_ITEMS = 20
_MESSAGES = frozenset({"message", "msg", "error", "detail", "raw", "error_description"})
_WORDS = frozenset(
    {"type", "code", "status", "param", "n_ctx", "retryDelay", "resets_in_seconds", "reason"}
)
_TRANSPORT = frozenset(
    {"TransportError", "APIConnectionError", "ClientError", "OSError", "DecodingError"}
)


def symptom_of(error: BaseException, *, is_broken: bool) -> Symptom:
    """Return the facts of a failed request; ``is_broken``: its answer had begun."""
    chain = list(_chain(error))
    kind = type(error).__name__
    causes = tuple(type(cause).__name__ for cause in chain[1:])
    for cause in chain:
        response: object = getattr(cause, "response", None)
        status: object = getattr(response, "status_code", None)
        # litellm invents a response where there was none; it has no body and no headers.
        if isinstance(status, int) and (headers := _headers(response)):
            text, words = said_in(_body(response) or _message(error))
            return Symptom(text, f"{kind} {words}", status, headers, causes, is_broken)
    transport = next((cause for cause in reversed(chain) if _is_transport(cause)), None)
    if transport is not None:
        text = as_text(getattr(transport, "strerror", "")) or str(transport)
        return Symptom(text, kind, None, {}, causes, is_broken, is_connection=True)
    text, words = said_in(_message(error))
    status = getattr(error, "status_code", None)
    # litellm reports its own bugs as failed connections with status 500. A retry does not help.
    is_ours = kind == "APIConnectionError" or not isinstance(status, int)
    headers = _lowered(getattr(error, "litellm_response_headers", None))
    known = None if is_ours else cast("int", status)
    return Symptom(text, "" if is_ours else f"{kind} {words}", known, headers, causes, is_broken)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(seen) < _DEEPEST:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or one in seen:
            continue
        seen.append(one)
        yield one
        waiting += [getattr(one, "original_exception", None), one.__cause__, one.__context__]
        # A host name with several addresses fails once for each.
        waiting += cast("Sequence[object]", getattr(one, "exceptions", ()))


def _is_transport(error: BaseException) -> bool:
    if type(error).__module__.startswith("litellm"):
        return False
    return any(parent.__name__ in _TRANSPORT for parent in type(error).__mro__)


def _headers(response: object) -> dict[str, str]:
    return _lowered(getattr(response, "headers", None))


def _lowered(headers: object) -> dict[str, str]:
    if not isinstance(headers, Mapping):
        return {}
    items = cast("Mapping[object, object]", headers).items()
    return {str(name).lower(): str(value) for name, value in items}


def _body(response: object) -> str:
    try:
        return as_text(getattr(response, "text", ""))
    except Exception:
        # A body that was not read cannot be shown, and reading it now could hang.
        return ""


def _message(error: BaseException) -> str:
    return as_text(getattr(error, "message", "")) or str(error)


def said_in(text: str) -> tuple[str, str]:
    """Return the messages in an error body, and the words and numbers that classify it.

    Gateways put the provider's own error, often as a text in JSON, into their own.
    """
    messages: list[str] = []
    words: list[str] = []
    _collect(_json_in(text), messages, words)
    return " ".join(dict.fromkeys(messages)) or text, " ".join(dict.fromkeys(words))


def _collect(value: object, messages: list[str], words: list[str], depth: int = 0) -> None:
    for one in as_list(value)[:_MAX_ITEMS]:
        _collect(one, messages, words, depth)
    if depth > _DEEPEST_JSON:
        return
    for key, one in as_object(value).items():
        inner = _json_in(one) if isinstance(one, str) else one
        if key == "loc":
            messages.append(".".join(map(str, as_list(one))) + ":")
        elif as_object(inner) or as_list(inner):
            _collect(inner, messages, words, depth + 1)
        elif key in _MESSAGES and isinstance(one, str) and one:
            messages.append(one)
        elif key in _WORDS and isinstance(one, str | int):
            words.append(f"{key} {one}" if isinstance(one, int) or key == "retryDelay" else one)


def _json_in(text: str) -> object:
    """Return the JSON object, or the list of objects, that a text holds; None if it holds none."""
    if (start := text.find("{")) < 0:
        return None
    start = 0 if text.lstrip().startswith("[") else start
    try:
        return json.JSONDecoder().raw_decode(text.lstrip() if start == 0 else text, start)[0]
    except (ValueError, RecursionError):
        return None
