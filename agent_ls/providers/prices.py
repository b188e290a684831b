"""What is known of models that litellm does not know, and what their tokens cost.

A user's own cards stand in the settings (``model_host.models``) and go before these.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage

_MILLION = 1_000_000


class ModelCard(Record):
    """A model's size and prices; prices are per million tokens."""

    window_tokens: int = 0
    """Context window; 0: unknown."""
    max_output_tokens: int = 0
    """Longest answer; 0: unknown."""
    input_usd: float = 0.0
    """Per million input tokens that were not cached."""
    output_usd: float = 0.0
    """Per million output tokens."""
    cache_read_usd: float | None = None
    """Per million input tokens read from the cache; by default as ``input_usd``."""
    cache_write_usd: float | None = None
    """Per million input tokens written to the cache; by default as ``input_usd``."""

    def cost_usd(self, usage: Usage) -> float:
        """Return what this usage costs."""
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        read = self.input_usd if self.cache_read_usd is None else self.cache_read_usd
        write = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        total = (
            max(0, fresh) * self.input_usd
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output_usd
        )
        return total / _MILLION


CARDS: Mapping[str, ModelCard] = {
    "openai/scripted": ModelCard(window_tokens=200_000, max_output_tokens=32_000),
}


def card_of(model: str, own: Mapping[str, ModelCard]) -> ModelCard | None:
    """Return the user's card of a model, else ours, else None: litellm may know more."""
    return own.get(model) or CARDS.get(model)
