"""JSON that can be stored, read again and shown anywhere: anything else is refused or softened.

Pure. Python reads ``1e999`` as infinity, writes half characters and nests as deep as its stack;
what reads our events and messages does not.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, NoReturn, cast

from pydantic import BeforeValidator, JsonValue

MAX_DEPTH = 100
"""Of lists and objects in each other; parsers give up at about 200."""
_MAX_INTEGER = 2**63
_MAX_DIGITS = 100


def plain_json(text: str) -> JsonValue:
    """Return the JSON value that a text is.

    Errors: ``ValueError`` for anything else, repeated keys included, and for what cannot be stored
    and shown: numbers that are not finite or too large, half characters, too deep nesting.
    """
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_unique, parse_constant=_not_json)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if (fault := _fault(value)) is not None:
        raise ValueError(fault)
    return value


def _fault(value: JsonValue) -> str | None:
    """Return what is wrong with a value; None when it is plain."""
    # Without recursion: it may be nested as deep as the parser could follow.
    left: list[tuple[object, int]] = [(value, 0)]
    while left:
        item, depth = left.pop()
        if isinstance(item, dict | list):
            if depth >= MAX_DEPTH:
                return f"it is nested too deeply (more than {MAX_DEPTH} levels)"
            left += [(one, depth + 1) for one in _parts(cast("dict[str, object]", item))]
        elif fault := _leaf_fault(item):
            return fault
    return None


def _parts(item: dict[str, object] | list[object]) -> list[object]:
    return [*item, *item.values()] if isinstance(item, dict) else item


def _leaf_fault(item: object) -> str | None:
    if isinstance(item, float) and not math.isfinite(item):
        return "a number in it is too large"
    if isinstance(item, int) and not -_MAX_INTEGER <= item < _MAX_INTEGER:
        return "a number in it is too large"
    if isinstance(item, str) and not _is_whole(item):
        return "a text in it has half of a character (a surrogate without the other one)"
    return None


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def softened(value: Any, depth: int = 0) -> Any:
    """Return a value such that it can be stored and shown; what is not plain in it is replaced."""
    if isinstance(value, dict | list | tuple):
        if depth >= MAX_DEPTH:
            return "(nested too deeply)"
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {softened(name): softened(one, depth + 1) for name, one in items}
        return [softened(one, depth + 1) for one in cast("list[Any]", value)]
    if _leaf_fault(value) is None:
        return value
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def soft_json(text: str) -> Any:
    """Return the softened value that a text is. Errors: ``ValueError``, ``RecursionError``."""
    return softened(json.loads(text, parse_int=_integer))


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) < _MAX_DIGITS else None


PlainJson = Annotated[JsonValue, BeforeValidator(softened)]
"""A value from a tool, a hook or a server, softened where it has to be."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands in it twice")
    return data


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
