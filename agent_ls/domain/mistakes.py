"""Explains pydantic's validation errors in words for the user who wrote the values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

UNKNOWN = "is not known"
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": UNKNOWN,
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_unicode": "must be text that can be written: it has half a character",
    "too_short": "must not be empty",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
}
_ALTERNATIVE = re.compile(r"(constrained-)?(str|int|float|bool)|[a-z-]+\[.*\]")
"""What pydantic adds to a location for each type of a union."""


def mistakes(error: ValidationError) -> list[tuple[str, str]]:
    """Return each wrong location and why: ``hooks.after_tool[1].command``, ``is missing``.

    List entries are counted from 1, like tables in a file. A union is one location with all its
    reasons.
    """
    found = causes(error)
    places = [one["loc"] for one in found]
    whys: dict[str, list[str]] = {}
    for one in found:
        where = _place(_keys(one["loc"], places))
        whys.setdefault(where, []).append(_WORDS.get(one["type"]) or _plain(one["msg"]))
    return [(where, ", or ".join(said)) for where, said in whys.items()]


def causes(error: ValidationError) -> list[ErrorDetails]:
    """Return pydantic's errors without those that only follow from others.

    A list with invalid entries is also reported as too short, because they were left out first.
    """
    found = error.errors(include_url=False)
    inner = {one["loc"][:depth] for one in found for depth in range(len(one["loc"]))}
    return [one for one in found if one["type"] != "too_short" or one["loc"] not in inner]


def mistakes_said(error: ValidationError) -> str:
    """Return all errors in one line: ``choice: must be 'allow_once' or 'reject'``."""
    return "; ".join(f"{where}: {why}" if where else why for where, why in mistakes(error))


def _plain(message: str) -> str:
    words = message.removeprefix("Value error, ").replace("Input should", "must", 1)
    return words[:1].lower() + words[1:]


def _keys(place: tuple[int | str, ...], places: Sequence[tuple[int | str, ...]]) -> list[int | str]:
    """Return a location without its union types; pydantic reports one error per type."""

    def is_type(at: int) -> bool:
        beside = {str(one[at]) for one in places if one[:at] == place[:at] and len(one) > at}
        return len(beside) > 1 and all(_ALTERNATIVE.fullmatch(one) for one in beside)

    return [key for at, key in enumerate(place) if not is_type(at)]


def _place(keys: Sequence[int | str]) -> str:
    parts = (f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(parts).removeprefix(".")
