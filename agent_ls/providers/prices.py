"""What is known of models: size, prices, and by which of OpenAI's interfaces they are asked.

Read from the table that the model library ships, as data: the library itself is not imported.
A user's own cards stand in the settings (``provider.models``) and go before it.
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
"""Part of a model's name that asks for OpenAI's Responses API."""


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
    """A row of the table."""

    card: ModelCard = ModelCard()
    provider: str = ""
    is_chat: bool = True
    """Asked by chat completions; some models know the Responses API alone."""
    is_reasoning: bool = True
    has_responses: bool = False
    """Can be asked by the Responses API."""
    dearer: tuple[tuple[int, ModelCard], ...] = ()
    """What holds for a prompt of more tokens than that; ascending."""

    def cost_usd(self, usage: Usage) -> float:
        """Return what this usage costs; 0 where no price is known."""
        above = [card for limit, card in self.dearer if usage.input_tokens > limit]
        return (above[-1] if above else self.card).cost_usd(usage)


UNKNOWN: Final = KnownModel()


def read_row(row: Object) -> KnownModel:
    """Return what a row of the library's table says."""
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
    """The library's table; read once for each model that is asked for, and then forgotten."""

    def __init__(self) -> None:
        self._found: dict[str, KnownModel | None] = {}

    def find(self, model: str) -> KnownModel | None:
        """Return what is known of a model, which may be named without its provider."""
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
        # Another version may keep it elsewhere: then nothing is known, and settings can say it.
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
