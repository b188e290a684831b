"""Messages on the pipes between server and model host, one line of JSON each.

An order is one ``Order``. A report is a list that starts with a request's number and a word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field
from pydantic_core import PydanticSerializationError

from agent_ls.domain.messages import ProviderData
from agent_ls.domain.model_io import (
    CallClosed,
    CallCut,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    StreamFinished,
    TextDelta,
    TextWasReasoning,
)
from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage

Report = Sequence[object]
"""``[number, word, …]``."""

FACTS, GONE, FAILED, FINISHED = "facts", "gone", "failed", "finished"
MODELS, SIGNED_IN = "models", "signed_in"
LAST = frozenset({FACTS, FAILED, FINISHED, GONE, MODELS, SIGNED_IN})
"""Words of a request's last report: ``FACTS card``, ``GONE words``, ``FAILED trouble``,
``MODELS models problems``."""
CODE = "code"
"""Word of the report about a sign-in: ``CODE page user_code valid_s``."""
TEXTS = ("text", "reasoning")
_STRINGS = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "was_reasoning": TextWasReasoning,
    "closed": CallClosed,
    "cut": CallCut,
}
"""Events that have only string fields, by their report word."""
_WORDS = {kind: word for word, kind in _STRINGS.items()}


class Limits(Record):
    """Time limits of a request."""

    connect_s: float = Field(default=15.0, gt=0)
    """How long connecting may take."""
    first_chunk_s: float = Field(default=180.0, gt=0)
    """How long nothing may come before an answer begins. A server that pings has the time of the
    step."""
    idle_s: float = Field(default=180.0, gt=0)
    """How long an answer may fall silent. Pings count as life."""


class Access(Record):
    """How to reach a model, handed over with each request and kept nowhere."""

    api_key: str | None = None
    api_base: str | None = None
    extra: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Further arguments for litellm, such as ``api_version`` or ``aws_region_name``."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the keys that no message may show."""
        names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        found = (self.api_key, *map(self.extra.get, names))
        return tuple(one for one in found if one)


class Order(Record):
    """A request from the server to the model host."""

    op: Literal["request", "facts", "models", "sign_in", "cancel"]
    number: int
    model: str = ""
    sign_in: str = ""
    """The name of an account to sign in with."""
    listed: Mapping[str, Access] = Field(default_factory=dict[str, Access])
    """The providers whose models are listed, and how they are reached."""
    access: Access = Access()
    limits: Limits = Limits()
    request: ModelRequest | None = None
    window_tokens: int = 0
    """The model's window as the server counts on it; 0: unknown."""


class Trouble(Record):
    """Why a request failed, as far as the host can tell."""

    failure: str
    detail: str
    """The provider's own words, cleaned and cut."""
    status: int | None = None
    retry_after_s: float | None = None
    window_tokens: int | None = None
    """The model's window, if the refusal of a long request names it."""
    endpoint: str = ""
    provider: str = ""
    cause: str = ""
    models: tuple[str, ...] = ()
    """The models that the server has, if it lacks the one that was asked."""
    is_ollama: bool = False
    """The server that lacks the model is Ollama."""
    near: tuple[str, ...] = ()
    """Known models with a name like the one that nobody knows."""


def encode_order(order: Order) -> bytes:
    """Return an order as one line of JSON."""
    try:
        return order.model_dump_json().encode() + b"\n"
    except PydanticSerializationError:
        # Text of an editor or a file may hold lone surrogates, which UTF-8 cannot encode.
        text = json.dumps(order.model_dump(mode="python"), ensure_ascii=False)
        return text.encode("utf-8", "replace") + b"\n"


def encode_report(report: Report) -> bytes:
    """Return a report as one line of JSON."""
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def report_event(event: ModelEvent) -> tuple[str, *tuple[object, ...]]:
    """Return the report of a model event, without the request's number."""
    match event:
        case StreamFinished(finish, usage, model, data):
            kept = data.model_dump() if data else None
            return (FINISHED, finish.value, usage.model_dump(), model, kept)
        case TextDelta(text) | ReasoningDelta(text):
            return (_WORDS[type(event)], text)
        case TextWasReasoning():
            return (_WORDS[type(event)],)
        case CallClosed(call_id, tool, arguments) | CallCut(call_id, tool, arguments):
            return (_WORDS[type(event)], call_id, tool, arguments)


def read_event(report: Report) -> ModelEvent | None:
    """Return the model event in a report; None if it reports something else."""
    match report:
        case [_, word, str(finish), usage, str(model), kept] if word == FINISHED:
            data = ProviderData.model_validate(kept) if kept else None
            return StreamFinished(FinishReason(finish), Usage.model_validate(usage), model, data)
        case [_, str(word), *fields] if word in _STRINGS:
            return _STRINGS[word](*map(str, fields))
        case _:
            return None
