"""Reads the lists of models that servers give, in the forms of OpenAI, Ollama and others. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agent_ls.loop.ports.models import ListedModel
from agent_ls.providers.dialects import ABILITIES
from agent_ls.providers.shapes import Object, as_count, as_list, as_object, as_text

_DEEPEST: Final = 4


def listed_models(found: object) -> list[Object]:
    """Return the entries of a list of models; empty if it is none."""
    fields = as_object(found)
    entries = as_list(fields.get("data")) or as_list(fields.get("models"))
    return [as_object(one) for one in entries]


def names_of(entry: Object) -> list[str]:
    """Return the names of a model, the one to ask for first."""
    names = (as_text(entry.get(key)) for key in ("id", "model", "name"))
    return [name for name in names if name]


def counted_in(value: object, names: tuple[str, ...], depth: int = 0) -> int:
    """Return the first count of these names in an object or in those within it; 0: none.

    A name may have a prefix with a dot, as Ollama puts the kind of model before it.
    """
    fields = as_object(value)
    for name in names:
        for key, one in fields.items():
            if name in (key, key.rpartition(".")[2]) and (tokens := as_count(one)):
                return tokens
    inner = fields.values() if depth < _DEEPEST else ()
    return next((tokens for one in inner if (tokens := counted_in(one, names, depth + 1))), 0)


def with_abilities(model: ListedModel, told: Object) -> ListedModel:
    """Return a model with what a server tells of it; what was known of it stays."""
    words = {place: set(_words(told, place)) for place in ABILITIES.places}
    tools = _has(words, ABILITIES.tools, ABILITIES.tool_places)
    images = _has(words, ABILITIES.images, ABILITIES.image_places)
    thinks = _has(words, ABILITIES.effort, ABILITIES.tool_places)
    efforts = None if thinks is None else ("low", "medium", "high") if thinks else ()
    return model.model_copy(
        update={
            "window_tokens": model.window_tokens or counted_in(told, ABILITIES.window),
            "has_tools": model.has_tools if model.has_tools is not None else tools,
            "takes_images": model.takes_images if model.takes_images is not None else images,
            "efforts": model.efforts if model.efforts is not None else efforts,
        }
    )


def _has(words: dict[str, set[str]], wanted: frozenset[str], places: frozenset[str]) -> bool | None:
    """Say whether a server names one of these words; None if it fills in none of the places."""
    if any(wanted & one for one in words.values()):
        return True
    return False if any(words[place] for place in places) else None


def _words(told: Object, place: str) -> Iterator[str]:
    value: object = told
    for name in place.split("."):
        value = as_object(value).get(name)
    yield from filter(None, (as_text(value),))
    yield from (as_text(one).lower() for one in as_list(value))
    # A flag that is false shows that the server would tell it.
    yield from (name if flag else f"no {name}" for name, flag in as_object(value).items())
