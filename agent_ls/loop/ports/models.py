"""Access to models: the provider for turns, and the adviser for side questions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from agent_ls.domain.model_io import ModelEvent, ModelRequest
from agent_ls.domain.record import Record


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Limits and prices of a model."""

    window_tokens: int
    """0: unknown."""
    max_output_tokens: int
    """0: unknown."""
    input_usd: float = 0.0
    """Per million input tokens; 0: unknown."""
    output_usd: float = 0.0
    """Per million output tokens; 0: unknown."""
    takes_images: bool | None = None
    """None: unknown, so it is tried."""


class ListedModel(Record):
    """A model to choose. None: not known."""

    name: str
    """As the setting ``model`` takes it."""
    window_tokens: int = 0
    """0: unknown."""
    max_output_tokens: int = 0
    """0: unknown."""
    input_usd: float | None = None
    """Per million tokens."""
    output_usd: float | None = None
    """Per million tokens."""
    has_tools: bool | None = None
    """It calls tools, without which an agent can only talk."""
    takes_images: bool | None = None
    efforts: tuple[str, ...] | None = None
    """The values of ``loop.reasoning_effort`` that it takes; empty: it does not think."""


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models that can be used with the keys that are there."""

    models: tuple[ListedModel, ...] = ()
    """By provider and name."""
    problems: tuple[str, ...] = ()
    """What is wrong with a key or a server, for the user."""


class Provider(Protocol):
    """Sends requests to models."""

    async def start(self, model: str = "") -> None:
        """Begin loading a model; returns at once, and requests wait until it is ready."""

    async def close(self) -> None:
        """End every request and every process it started."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send the request and yield its events, ending with ``StreamFinished``.

        Errors: ``ProviderError`` for every failure, mid-stream too.
        Closing the iterator (or cancelling the task) cancels the request on the wire.
        """
        ...

    async def facts(self, model: str) -> ModelFacts:
        """Return limits and prices of ``model``; never raises, unknown values are 0."""
        ...

    async def models(self, model: str = "") -> ModelList:
        """Return what can be used; the server of ``model``, the one that is set, is asked too.

        Errors: ``ProviderError`` if the list cannot be made.
        """
        ...


class Adviser(Protocol):
    """A side model for short texts: summaries, confidence, evaluations."""

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        """Return the answer; recorded as ``AdviceGiven``.

        ``origin`` is the asking policy.
        Errors: ``ProviderError`` when there is no answer; a timeout and an empty answer count as
        none.
        """
        ...
