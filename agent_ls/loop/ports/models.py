"""Access to models: the provider for turns, and the adviser for side questions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from agent_ls.domain.model_io import ModelEvent, ModelRequest


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
