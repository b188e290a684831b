"""Finds a JSON object in a model's answer: the whole text, a code block, or the first ``{…}``.

Source: S2, response parsing of the self-evaluation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

_BLOCK = re.compile(r"```(?:json)?[ \t]*\n?(.*?)```", re.DOTALL | re.IGNORECASE)
_MAX_STARTS = 50


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in an answer; None when there is none."""
    return next(objects_in(text), None)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in an answer: whole text, code blocks, then any ``{…}``."""
    for candidate in _candidates(text):
        try:
            found, _ = json.JSONDecoder().raw_decode(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield cast("dict[str, Any]", found)


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    yield from (block[1].strip() for block in _BLOCK.finditer(text))
    at = -1
    for _ in range(_MAX_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return
        yield text[at:]


def texts_of(value: object) -> tuple[str, ...]:
    """Return a list's non-empty texts, or one text as a list; other values are dropped."""
    if isinstance(value, str):
        return (value.strip(),) if value.strip() else ()
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(one.strip() for one in items if isinstance(one, str) and one.strip())
