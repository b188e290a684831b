"""JSON from strangers as the shape that was expected: what has another shape counts as empty.

For readers that must never trip over what an endpoint or a client sends.
"""

from __future__ import annotations

from typing import cast

_MAX_COUNT = 2**53

Object = dict[str, object]


def as_object(value: object) -> Object:
    """Return an object; an empty one for anything else."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return an array; an empty one for anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a string; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a number of things, at least 0; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    # Neither more than a database takes, nor infinity, nor what is no number.
    return int(value) if 0 <= value <= _MAX_COUNT else 0
