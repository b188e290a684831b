"""Validates JSON schemas for a turn's output, and output against them.

Nothing is fetched: a reference to another document is an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

from agent_ls.domain.errors import SettingsError

Schema = dict[str, JsonValue]

_MAX_ERRORS = 5
_PATTERN_S = 0.2


def check_schema(schema: JsonValue, name: str) -> Schema:
    """Return the schema if it is valid.

    Errors: ``SettingsError`` that says what is wrong; ``name`` is the schema's origin.
    """
    if not isinstance(schema, dict):
        raise SettingsError(f"{name} holds no JSON schema: it is no object.")
    library = _library()
    try:
        library.validators.validator_for(schema).check_schema(schema)
    except library.exceptions.SchemaError as error:
        raise SettingsError(f"{name} is no valid JSON schema: {error.message}.") from None
    return schema


def violations(value: JsonValue, schema: Schema) -> list[str]:
    """Return where a value does not fit the schema, one line each; empty when it fits."""
    library = _library()
    registry = importlib.import_module("referencing").Registry()
    plain = library.validators.validator_for(schema)
    bounded = library.validators.extend(plain, {"pattern": _pattern})
    try:
        errors = sorted(bounded(schema, registry=registry).iter_errors(value), key=_place)
    except Exception as error:
        # Dangling and circular references show only here.
        return [f"the schema itself cannot be used: {error}"]
    return [f"{one.json_path}: {one.message[:300]}" for one in errors[:_MAX_ERRORS]]


def _place(error: Any) -> str:
    return error.json_path


def _pattern(validator: Any, pattern: str, instance: JsonValue, schema: Schema) -> Iterator[Any]:
    """Yield an error for a text that does not match the pattern, with a time limit.

    The default search would block the process on a pattern that backtracks.
    """
    if not validator.is_type(instance, "string"):
        return
    error = _library().exceptions.ValidationError
    search = importlib.import_module("regex").search
    try:
        if search(pattern, instance, timeout=_PATTERN_S) is None:
            yield error(f"{instance!r} does not match {pattern!r}")
    except TimeoutError:
        yield error(f"it takes too long to tell whether it matches {pattern!r}; make it simpler")


def _library() -> Any:
    """Import the validating library late, because most turns do not need it."""
    return importlib.import_module("jsonschema")
