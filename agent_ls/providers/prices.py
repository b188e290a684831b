"""Facts about models: size, prices, and which of OpenAI's APIs they support.

Read from the JSON table that litellm ships, without importing litellm. A user's own cards in the
settings (``provider.models``) take precedence.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text

_MILLION: Final = 1_000_000
_TABLE: Final = "model_prices_and_context_window_backup.json"
_TIER: Final = re.compile(r"input_cost_per_token(_above_(\d+)k_tokens)")
RESPONSES: Final = "responses/"
"""Part of a model's name that selects OpenAI's Responses API."""


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


SCRIPTED: Final = {
    "openai/scripted": ModelCard(window_tokens=200_000, max_output_tokens=32_000),
}


@dataclass(frozen=True, slots=True)
class KnownModel:
    """The facts about one model."""

    card: ModelCard = ModelCard()
    provider: str = ""
    is_chat: bool = True
    """Supports chat completions; some models support only the Responses API."""
    is_reasoning: bool = True
    has_responses: bool = False
    """Supports the Responses API."""
    dearer: tuple[tuple[int, ModelCard], ...] = ()
    """(limit, card) pairs, ascending: the prices for prompts of more tokens than the limit."""

    def cost_usd(self, usage: Usage) -> float:
        """Return what this usage costs; 0 if no price is known."""
        above = [card for limit, card in self.dearer if usage.input_tokens > limit]
        return (above[-1] if above else self.card).cost_usd(usage)


UNKNOWN: Final = KnownModel()


def read_row(row: Object) -> KnownModel:
    """Return the facts in a row of litellm's table."""
    tiers = sorted((int(found[2]) * 1000, found[1]) for found in map(_TIER.fullmatch, row) if found)
    return KnownModel(
        card=_card(row),
        provider=as_text(row.get("litellm_provider")),
        is_chat=row.get("mode", "chat") == "chat",
        is_reasoning=bool(row.get("supports_reasoning")),
        has_responses="/v1/responses" in as_list(row.get("supported_endpoints")),
        dearer=tuple((limit, _card(row, suffix)) for limit, suffix in tiers),
    )


class PriceTable:
    """Looks up models in litellm's table, which is read once per model and not kept in memory."""

    def __init__(self) -> None:
        self._found: dict[str, KnownModel | None] = {}

    def find(self, model: str) -> KnownModel | None:
        """Return the facts about a model, or None. The name may lack its provider."""
        if model not in self._found:
            table = _read_table()
            rows = (as_object(table[name]) for name in _names(model, table))
            self._found[model] = next(map(read_row, rows), None)
        return self._found[model]


def _names(model: str, table: Object) -> Iterator[str]:
    named = model.replace(f"/{RESPONSES}", "/", 1)
    if named in table:
        yield named
    provider, _, name = named.partition("/")
    if name and as_text(as_object(table.get(name)).get("litellm_provider")).startswith(provider):
        yield name


def _read_table() -> Object:
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    try:
        return as_object(json.loads((Path(found.origin).parent / _TABLE).read_bytes()))
    except (OSError, ValueError):
        # Another litellm version may keep the table elsewhere. Settings can supply the facts.
        return {}


def _card(row: Mapping[str, object], suffix: str = "") -> ModelCard:
    def price(name: str) -> float | None:
        found = row.get(name + suffix, row.get(name))
        return found * _MILLION if isinstance(found, int | float) else None

    return ModelCard(
        window_tokens=as_count(row.get("max_input_tokens")),
        max_output_tokens=as_count(row.get("max_output_tokens")),
        input_usd=price("input_cost_per_token") or 0.0,
        output_usd=price("output_cost_per_token") or 0.0,
        cache_read_usd=price("cache_read_input_token_cost"),
        cache_write_usd=price("cache_creation_input_token_cost"),
    )
