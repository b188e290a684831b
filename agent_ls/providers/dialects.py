"""Reads ``dialects.toml``: how providers and servers differ on the wire.

Pure, but for the table itself, which is read once. Nothing else in the code names a provider's
quirk; a new one is a row.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.record import Record

_Fields = Mapping[str, JsonValue]


class Dialect(Record):
    """How requests to one endpoint are written, and what of its answers goes back."""

    message_fields: frozenset[str] = frozenset()
    """Fields of an answer that go back with it."""
    call_fields: frozenset[str] = frozenset()
    """Fields of a call that go back with it."""
    fill_message: _Fields = Field(default_factory=dict)
    """Fields for a message with calls that has none of its own."""
    fill_call: _Fields = Field(default_factory=dict)
    """Fields for the first call of a message whose calls have none of their own."""
    user_after_tool: Literal["keep", "join"] = "keep"
    """Whether a user's message after a tool's result is joined to that result."""
    alternates: bool = False
    """Whether messages of one role in a row are joined."""
    system_as_user: bool = False
    """Whether the system prompt stands in the first user's message."""
    call_ids: Literal["any", "nine"] = "any"
    """``nine``: ids of calls have nine letters or digits."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit of an answer."""
    leave_out: frozenset[str] = frozenset()
    """Optional fields that are not sent."""


class _Row(Dialect):
    name: str
    provider: str = ""
    host: str = ""
    model: str = ""


class _Refusal(Record):
    words: str
    change: Dialect


class UsagePlaces(Record):
    """Where an answer's token counts stand."""

    places: tuple[str, ...]
    input: tuple[str, ...]
    output: tuple[str, ...]
    cache_read: tuple[str, ...]
    cache_write: tuple[str, ...]
    reasoning: tuple[str, ...]


class _Table(Record):
    finish: Mapping[FinishReason, tuple[str, ...]]
    usage: UsagePlaces
    addresses: Mapping[str, str]
    dialect: tuple[_Row, ...]
    refusal: tuple[_Refusal, ...]


_TABLE: Final = _Table.model_validate(
    tomllib.loads(Path(__file__).with_name("dialects.toml").read_text("utf-8"))
)
_FINISH: Final = {word: reason for reason, words in _TABLE.finish.items() for word in words}
USAGE: Final = _TABLE.usage
ADDRESSES: Final = _TABLE.addresses
"""Providers that need no library, and their addresses; empty: the user must set one."""


def finish_of(word: str) -> FinishReason:
    """Return the reason for a provider's word; ``UNKNOWN`` for a new word."""
    return _FINISH.get(word.lower(), FinishReason.UNKNOWN)


@lru_cache(maxsize=256)
def dialect_of(provider: str, endpoint: str, model: str) -> Dialect:
    """Return the dialect of a model at an endpoint; an empty endpoint is the provider's own."""
    host = (urlsplit(endpoint).hostname or "") if endpoint else ""
    texts = {"provider": provider, "host": host, "model": model.lower()}
    found = Dialect()
    for row in _TABLE.dialect:
        if all(re.search(getattr(row, key), text) for key, text in texts.items()):
            found = _changed(found, row)
    return found


def adapted(dialect: Dialect, sent: frozenset[str], words: str) -> Dialect | None:
    """Return the dialect after a refusal in these words; None if they say nothing new.

    ``sent`` are the optional fields of the refused request.
    """
    for refusal in _TABLE.refusal:
        if re.search(refusal.words, words, re.IGNORECASE | re.DOTALL):
            found = _changed(dialect, refusal.change)
            if found != dialect:
                return found
    named = {one for one in sent if re.search(rf"\b{re.escape(one)}\b", words)}
    if not named or named <= dialect.leave_out:
        return None
    return dialect.model_copy(update={"leave_out": dialect.leave_out | named})


def _changed(dialect: Dialect, row: Dialect) -> Dialect:
    own = row.model_fields_set & set(Dialect.model_fields)
    return dialect.model_copy(update={name: getattr(row, name) for name in own})
