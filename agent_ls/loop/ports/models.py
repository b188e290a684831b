"""The ways to models: the one that answers a turn, and the one beside it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from agent_ls.domain.model_io import ModelEvent, ModelRequest, ModelRole


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model."""

    window_tokens: int
    """0: unknown."""
    max_output_tokens: int
    """0: unknown."""
    input_usd: float = 0.0
    """Per million input tokens; 0: unknown."""
    output_usd: float = 0.0
    """Per million output tokens; 0: unknown."""


class Provider(Protocol):
    """A way to models."""

    async def start(self, model: str = "") -> None:
        """Begin to get ready for a model; returns at once, and requests wait until it is."""
        ...

    async def close(self) -> None:
        """End every request and everything that was started."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send the request and yield what comes back, ending with ``StreamFinished``.

        Errors: ``ProviderError`` for everything that goes wrong, in the middle too.
        Closing the iterator (or cancelling the task) cancels the request on the wire.
        """
        ...

    async def facts(self, model: str) -> ModelFacts:
        """Return what is known of ``model``; never raises for an unknown one."""
        ...


class Adviser(Protocol):
    """A side model that gives short texts: summaries, confidence, evaluations."""

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        role: ModelRole = ModelRole.CHEAP,
        max_tokens: int = 1_000,
    ) -> str:
        """Return what the model of that role answers; recorded as ``AdviceGiven``.

        ``origin`` is the policy that asks.
        Errors: ``ProviderError`` when there is no answer, a time-out and an empty one included.
        """
        ...
