"""Reads untrusted JSON in the expected shape; a value of another shape counts as empty.

For parsers that must not fail on anything an endpoint or a client sends.
"""

from __future__ import annotations

from typing import cast

_MAX_COUNT = 2**53

Object = dict[str, object]


def as_object(value: object) -> Object:
    """Return the value if it is an object, else an empty object."""
    return cast("Object", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return the value if it is an array, else an empty array."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """Return a number from 0 to 2**53 as an integer; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    # Excludes infinity, NaN and numbers too large for the database.
    return int(value) if 0 <= value <= _MAX_COUNT else 0
