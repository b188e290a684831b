"""Reads the facts of a failed request from its exception, without importing litellm or httpx.

litellm's exceptions wrap each other and invent status codes. Reliable is what the exception chain
holds: the HTTP response if there was one, else the transport's own error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from agent_ls.providers.failures import Symptom
from agent_ls.providers.shapes import as_object, as_text

_DEEPEST = 20
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
            text, words = _said(_body(response) or _message(error))
            return Symptom(text, f"{kind} {words}", status, headers, causes, is_broken)
    transport = next((cause for cause in reversed(chain) if _is_transport(cause)), None)
    if transport is not None:
        text = as_text(getattr(transport, "strerror", "")) or str(transport)
        return Symptom(text, kind, None, {}, causes, is_broken, is_connection=True)
    text, words = _said(_message(error))
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


def _said(text: str) -> tuple[str, str]:
    """Return the message in an error body, and the words that classify it."""
    start = text.find("{")
    try:
        body = as_object(json.loads(text[start:])) if start >= 0 else {}
    except ValueError:
        body = {}
    error = as_object(body.get("error"))
    words = " ".join(as_text(error.get(key)) for key in ("type", "code", "status"))
    message = as_text(error.get("message")) or as_text(body.get("error"))
    return message or as_text(body.get("message")) or as_text(body.get("detail")) or text, words
