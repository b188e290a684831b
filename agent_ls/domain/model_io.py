"""Requests to a model and its stream events, independent of the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from agent_ls.domain.messages import Message, ProviderData
from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage


class ToolSpec(Record):
    """A tool's definition as the model sees it."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    """JSON schema of the arguments object."""


class ModelRequest(Record):
    """One provider request; equal requests must serialise to equal bytes (prompt caches)."""

    model: str
    """A litellm model name."""
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none"] = "auto"
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str | None = None
    images: Mapping[str, str] = Field(default_factory=dict[str, str])
    """The bytes of the messages' images in base64, by digest."""

    @property
    def text_size(self) -> int:
        """Return how many characters it has as JSON, without images."""
        return len(self.model_dump_json(exclude={"images"}))


class FinishReason(StrEnum):
    """Why the stream ended, normalised across providers."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's visible thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWasReasoning:
    """All text so far was thinking: the server did not mark where it began."""


@dataclass(frozen=True, slots=True)
class CallClosed:
    """A tool call with complete arguments; arrives before the stream's end."""

    provider_id: str
    tool: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class CallCut:
    """A tool call with incomplete arguments; comes right before ``StreamFinished``."""

    provider_id: str
    tool: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class StreamFinished:
    """The regular end of a stream, always last. A broken stream raises instead."""

    finish: FinishReason
    usage: Usage
    model: str
    provider_data: ProviderData | None = None


ModelEvent = TextDelta | ReasoningDelta | TextWasReasoning | CallClosed | CallCut | StreamFinished
