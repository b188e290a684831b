"""Keeps JSON values within what can be stored, read again and shown anywhere. Pure.

Python reads ``1e999`` as infinity, accepts lone surrogates and nests as deep as its stack; readers
of our events and messages do not.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, NoReturn, cast

from pydantic import BeforeValidator, JsonValue

MAX_DEPTH = 100
"""Of nested lists and objects; parsers give up at about 200."""
_MAX_INTEGER = 2**63
_MAX_DIGITS = 100


def plain_json(text: str) -> JsonValue:
    """Parse a JSON text.

    Errors: ``ValueError`` for invalid JSON, repeated keys, and values that cannot be stored and
    shown.
    """
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_unique, parse_constant=_not_json)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if softened(value) != value:
        raise ValueError(
            f"it has a number that is too large, half of a character, or more than {MAX_DEPTH} "
            "levels of nesting"
        )
    return value


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse a call's arguments as a JSON object; empty when they are not one."""
    try:
        value = plain_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def softened(value: Any, depth: int = 0) -> Any:
    """Return the value with everything that cannot be stored or shown replaced."""
    if isinstance(value, dict | list | tuple):
        if depth >= MAX_DEPTH:
            return "(nested too deeply)"
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {softened(name): softened(one, depth + 1) for name, one in items}
        return [softened(one, depth + 1) for one in cast("list[Any]", value)]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if -_MAX_INTEGER <= value < _MAX_INTEGER else None
    return value


def soft_json(text: str) -> Any:
    """Parse a JSON text and soften its value. Errors: ``ValueError``, ``RecursionError``."""
    return softened(json.loads(text, parse_int=_integer))


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) < _MAX_DIGITS else None


PlainJson = Annotated[JsonValue, BeforeValidator(softened)]
"""A value from a tool, a hook or a server, softened where necessary."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands in it twice")
    return data


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
