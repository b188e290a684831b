"""Tokens and cost of provider requests."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from agent_ls.domain.record import Record

_MAX_TOKENS = 2**53


def _counted(value: object) -> object:
    """Replace a missing, negative or absurd number by 0: an endpoint may report anything."""
    if value is None:
        return 0
    is_number = isinstance(value, int | float)
    return 0 if is_number and not 0 <= value <= _MAX_TOKENS else value


Count = Annotated[int, BeforeValidator(_counted)]
Amount = Annotated[float, BeforeValidator(_counted)]


class Usage(Record):
    """Tokens of one or more provider requests; ``input_tokens`` includes the cached ones."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    reasoning_tokens: Count = 0
    cost_usd: Amount = 0.0

    @property
    def total_tokens(self) -> int:
        """Return input plus output tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def known_cost_usd(self) -> float | None:
        """Return the cost; None when the price is unknown."""
        return None if self.total_tokens and not self.cost_usd else self.cost_usd

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the fields for other programs; an unknown cost is None, not 0."""
        return {**self.model_dump(), "cost_usd": self.known_cost_usd}

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )
