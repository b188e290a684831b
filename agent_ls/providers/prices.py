"""Facts about models: size, prices, what they can do, and which of OpenAI's APIs they support.

Read from the JSON table that litellm ships, without importing litellm. A user's own cards in the
settings (``provider.models``) take precedence.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from agent_ls.domain.record import Record
from agent_ls.domain.usage import Usage
from agent_ls.loop.ports.models import ListedModel
from agent_ls.providers.dialects import UNFIT_MODELS
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text
from agent_ls.providers.sign_ins import SIGN_INS

_MILLION: Final = 1_000_000
_TABLE: Final = "model_prices_and_context_window_backup.json"
_TIER: Final = re.compile(r"input_cost_per_token(_above_(\d+)k_tokens)")
_MOST_NEAR: Final = 3
_NEAR: Final = 0.75
"""How alike a mistyped name is; a less similar one would be a guess."""
_PROVIDERS: Final = {"bedrock_converse": "bedrock", "cohere_chat": "cohere"}
"""Providers that the table calls otherwise than names of models do."""
_MAKERS: Final = frozenset({"anthropic", "gemini", "openai"})
_PLACE: Final = re.compile(r"(vertex_ai)-[\w-]+")
"""Vertex has a row of providers in the table, one for each maker of models."""
_TUNED: Final = "ft:"
"""Rows for the prices of models that users have tuned."""
_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_USUAL_EFFORTS: Final = frozenset({"low", "medium", "high"})
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
    images: bool | None = None
    """Whether it takes images; None: unknown, so that it is tried."""

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
    "openai/scripted": ModelCard(window_tokens=200_000, max_output_tokens=32_000, images=True),
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

    def listed(self) -> dict[str, ListedModel]:
        """Return the models that can chat and are still offered, by name."""
        today = datetime.now(UTC).date().isoformat()
        found: dict[str, ListedModel] = {}
        for key, value in _read_table().items():
            row = as_object(value)
            if row.get("mode") not in ("chat", "responses") or _is_gone(row, today):
                continue
            if (name := _name(key, row)) and not re.search(UNFIT_MODELS, name.lower()):
                model = _listed(name, row)
                if model.window_tokens or model.has_tools:
                    found[name] = model
        return found

    def near(self, model: str) -> tuple[str, ...]:
        """Return the names most like one that nobody knows; empty: none is like it."""
        listed = self.listed()
        if model in listed:
            return ()
        head, slash, bare = model.partition("/")
        if account := SIGN_INS.get(head):
            # Its name is not always its provider's.
            head = account.provider
        providers = {provider_in(name) for name in listed}
        if slash and head not in providers:
            providers = {*get_close_matches(head, providers, cutoff=_NEAR)} or providers
        elif slash:
            providers = {head}
        # Of models that several providers have, those of their makers come first.
        names = {
            name.partition("/")[2]: name
            for name in sorted(listed, key=lambda one: provider_in(one) in _MAKERS)
            if provider_in(name) in providers
        }
        wanted = bare if slash else head
        if wanted in names:
            # Only its provider was mistyped, or left out.
            return (names[wanted],)
        near = get_close_matches(wanted, names, _MOST_NEAR, _NEAR)
        return tuple(names[one] for one in near)


def provider_in(name: str) -> str:
    """Return the provider of a listed model."""
    return name.partition("/")[0]


def _is_gone(row: Object, today: str) -> bool:
    return "" < as_text(row.get("deprecation_date")) < today


def _name(key: str, row: Object) -> str:
    """Return a row's name as the setting ``model`` takes it; empty if it is no model's."""
    listed = as_text(row.get("litellm_provider"))
    place = _PLACE.fullmatch(listed)
    provider = place[1] if place else _PROVIDERS.get(listed, listed)
    if key.startswith(f"{provider}/"):
        return key
    return "" if "/" in key or key.startswith(_TUNED) else f"{provider}/{key}"


def _listed(name: str, row: Object) -> ListedModel:
    card = _card(row)
    return ListedModel(
        name=name,
        window_tokens=card.window_tokens,
        max_output_tokens=card.max_output_tokens,
        input_usd=card.input_usd if "input_cost_per_token" in row else None,
        output_usd=card.output_usd if "output_cost_per_token" in row else None,
        has_tools=bool(row.get("supports_function_calling")),
        takes_images=card.images,
        efforts=_efforts(row),
    )


def _efforts(row: Object) -> tuple[str, ...]:
    if told := as_list(row.get("reasoning_effort_levels")):
        return tuple(map(as_text, told))
    if not row.get("supports_reasoning"):
        return ()
    return tuple(
        one
        for one in _EFFORTS
        if row.get(f"supports_{one}_reasoning_effort", one in _USUAL_EFFORTS)
    )


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

    vision = row.get("supports_vision")
    return ModelCard(
        window_tokens=as_count(row.get("max_input_tokens")),
        max_output_tokens=as_count(row.get("max_output_tokens")),
        input_usd=price("input_cost_per_token") or 0.0,
        output_usd=price("output_cost_per_token") or 0.0,
        cache_read_usd=price("cache_read_input_token_cost"),
        cache_write_usd=price("cache_creation_input_token_cost"),
        # Hundreds of models that see lack the field, so its absence says nothing.
        images=vision if isinstance(vision, bool) else None,
    )
