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
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import FinishReason
from agent_ls.domain.pictures import MediaType
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
    no_text: Literal["empty", "null"] = "empty"
    """The content of a message that holds calls and no text."""
    alternates: bool = False
    """Whether messages of one role in a row are joined."""
    system_as_user: bool = False
    """Whether the system prompt stands in the first user's message."""
    call_ids: str = ""
    """A regular expression for the ids of calls that are taken; empty: all are."""
    thinking: Literal["adaptive", "budget"] = "adaptive"
    """How Claude is asked to think: with an effort, or with a budget of tokens."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit of an answer."""
    window_option: str = ""
    """The option that tells a local server the window; empty: it has none."""
    most_window_tokens: int = 0
    """The largest window that is asked for, as a larger one takes memory; 0: no limit."""
    leave_out: frozenset[str] = frozenset()
    """Optional fields that are not sent."""
    image_types: frozenset[MediaType] = frozenset(get_args(MediaType))
    """The formats of images that are taken; others are sent as PNG."""
    home: str = ""
    """Where the server is unless the user says otherwise; empty: only the route knows."""
    endings: str = "$^"
    """Endings of addresses that name an endpoint, as a regular expression; they are cut off."""
    version: str = ""
    """A path that the address lacks, such as ``v1``."""
    models: str = ""
    """The path below the address where the server lists its models; empty: nowhere."""
    model_details: str = ""
    """The path below the address that says what one model can do; empty: none does."""
    is_ollama: bool = False
    """Whether the server is Ollama, which gets a model by ``ollama pull``."""


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


class ThinkingPlaces(Record):
    """Where visible thinking stands."""

    names: tuple[str, ...]
    parts: tuple[str, ...]


class Overflow(Record):
    """How a request is refused that is too long."""

    words: tuple[str, ...]
    window: tuple[str, ...]


class ImageRefusals(Record):
    """How a request with images is refused for their sake."""

    no_images: tuple[str, ...]
    bad_image: tuple[str, ...]


class RetryWords(Record):
    """How endpoints say in words when to try again."""

    words: tuple[str, ...]
    never: str


class WindowPlace(Record):
    """Where a server tells its models' windows."""

    path: str
    names: tuple[str, ...]


class Abilities(Record):
    """Where and in which words a server tells what a model can do."""

    places: tuple[str, ...]
    tools: frozenset[str]
    images: frozenset[str]
    effort: frozenset[str]
    tool_places: frozenset[str]
    image_places: frozenset[str]
    window: tuple[str, ...]


class _Nothing(Record):
    words: tuple[str, ...]


class Misplaced(Record):
    """How a server answers at a path that it does not have."""

    status: frozenset[int]
    words: str
    version: str


class _Table(Record):
    finish: Mapping[FinishReason, tuple[str, ...]]
    nothing: _Nothing
    usage: UsagePlaces
    thinking: ThinkingPlaces
    addresses: Mapping[str, str]
    other_addresses: Mapping[str, tuple[str, ...]]
    plain: Dialect
    misplaced: Misplaced
    ollama_owner: str
    unfit_models: str
    text_models: str
    dialect: tuple[_Row, ...]
    refusal: tuple[_Refusal, ...]
    window: tuple[WindowPlace, ...]
    abilities: Abilities
    overflow: Overflow
    images: ImageRefusals
    retry: RetryWords


_TABLE: Final = _Table.model_validate(
    tomllib.loads(Path(__file__).with_name("dialects.toml").read_text("utf-8"))
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION: Final = re.compile(
    r"(\d+(?:\.\d+)?) ?(ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h|d)(?![a-z]) ?"
)
_FINISH: Final = {word: reason for reason, words in _TABLE.finish.items() for word in words}
_OVERFLOW: Final = re.compile("|".join(_TABLE.overflow.words))
_NO_IMAGES: Final = re.compile("|".join(_TABLE.images.no_images))
_BAD_IMAGE: Final = re.compile("|".join(_TABLE.images.bad_image))
NEVER: Final = _TABLE.retry.never
"""Words of a limit that waiting does not lift, as a regular expression."""
WINDOWS: Final = _TABLE.window
ABILITIES: Final = _TABLE.abilities
USAGE: Final = _TABLE.usage
THINKING: Final = _TABLE.thinking
ADDRESSES: Final = _TABLE.addresses
"""Providers that need no library, and their addresses."""
OTHER_ADDRESSES: Final = _TABLE.other_addresses
"""Of some of them, the addresses for keys of another region or plan."""
MISPLACED: Final = _TABLE.misplaced
OLLAMA_OWNER: Final = _TABLE.ollama_owner
"""The owner that Ollama names for its models where it lists them in OpenAI's format."""
UNFIT_MODELS: Final = _TABLE.unfit_models
"""Names of models that no conversation can be had with, as a regular expression."""


def finish_of(word: str) -> FinishReason:
    """Return the reason for a provider's word; ``UNKNOWN`` for a new word."""
    # Gemini puts the kind of the reason before it.
    return _FINISH.get(word.lower().rpartition(": ")[2], FinishReason.UNKNOWN)


def is_nothing(word: str) -> bool:
    """Say whether a word stands in the place of a finish reason or a name that is not there."""
    return word.lower() in _TABLE.nothing.words


@lru_cache(maxsize=256)
def dialect_of(provider: str, endpoint: str, model: str) -> Dialect:
    """Return the dialect of a model at an endpoint; an empty endpoint is the provider's own."""
    host = (urlsplit(endpoint).hostname or "") if endpoint else ""
    texts = {"provider": provider, "host": host, "model": model.lower()}
    found = _TABLE.plain if provider in ADDRESSES else Dialect()
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


def lasting(dialect: Dialect) -> Dialect:
    """Return the dialect without what was learnt of one conversation alone."""
    left_out = dialect.leave_out - {"thinking", "reasoning_items"}
    return dialect.model_copy(update={"leave_out": left_out})


def _changed(dialect: Dialect, row: Dialect) -> Dialect:
    own = row.model_fields_set & set(Dialect.model_fields)
    found = dialect.model_copy(update={name: getattr(row, name) for name in own})
    return found.model_copy(update={"leave_out": dialect.leave_out | row.leave_out})


def is_overflow(words: str) -> bool:
    """Say whether an error's words mean that the request is too long."""
    return bool(_OVERFLOW.search(words.lower()))


def image_refusal(words: str) -> ProviderFailure | None:
    """Return what an error's words say of the request's images; None: nothing."""
    lowered = words.lower()
    if _NO_IMAGES.search(lowered):
        return ProviderFailure.NO_IMAGES
    return ProviderFailure.BAD_IMAGE if _BAD_IMAGE.search(lowered) else None


def takes_no_images(model: str) -> bool:
    """Say whether a model is known by its name to take text alone."""
    return bool(re.search(_TABLE.text_models, model.lower()))


def window_in(words: str) -> int | None:
    """Return the window, in tokens, that an error about a long request names."""
    for pattern in _TABLE.overflow.window:
        if found := re.search(pattern, words.lower()):
            return int(next(filter(None, found.groups())))
    return None


def wait_in(words: str) -> float | None:
    """Return the seconds that an error's words ask to wait."""
    for pattern in _TABLE.retry.words:
        if found := re.search(pattern, words.lower()):
            return float(found[1]) if found[1].isdecimal() else seconds_in(found[1])
    return None


def seconds_in(text: str) -> float | None:
    """Return the seconds of a duration such as ``1m30.5s`` or ``20 ms``; None if it is none."""
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        return None
    return sum(
        float(number) * _UNITS["ms" if unit[:2] in ("ms", "mi") and unit[:3] != "min" else unit[:1]]
        for number, unit in parts
    )
