"""Reads the lists of models that servers give, in the forms of OpenAI and of Ollama. Pure."""

from __future__ import annotations

from agent_ls.providers.shapes import Object, as_list, as_object, as_text


def listed_models(found: object) -> list[Object]:
    """Return the entries of a list of models; empty if it is none."""
    fields = as_object(found)
    entries = as_list(fields.get("data")) or as_list(fields.get("models"))
    return [as_object(one) for one in entries]


def names_of(entry: Object) -> list[str]:
    """Return the names of a model, the one to ask for first."""
    names = (as_text(entry.get(key)) for key in ("id", "model", "name"))
    return [name for name in names if name]
