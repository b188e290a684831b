"""JSON schemas that a person gives for a turn's output: whether one is valid, and what fits it.

Nothing is fetched: a reference to another document is an error.
"""

from __future__ import annotations

import importlib
from typing import Any

from pydantic import JsonValue

from agent_ls.domain.errors import SettingsError

Schema = dict[str, JsonValue]

_MAX_ERRORS = 5


def check_schema(schema: JsonValue, name: str) -> Schema:
    """Return the schema when it is one.

    Errors: ``SettingsError`` that says what is wrong with it; ``name`` is where it came from.
    """
    if not isinstance(schema, dict):
        raise SettingsError(f"{name} holds no JSON schema: it is no object.")
    library = _library()
    try:
        library.validators.validator_for(schema).check_schema(schema)
    except library.exceptions.SchemaError as error:
        raise SettingsError(f"{name} is no valid JSON schema: {error.message}.") from None
    return schema


def misfits(value: JsonValue, schema: Schema) -> list[str]:
    """Return what of a value does not fit the schema, by place; empty when all fits."""
    library = _library()
    registry = importlib.import_module("referencing").Registry()
    validator = library.validators.validator_for(schema)(schema, registry=registry)
    try:
        errors = sorted(validator.iter_errors(value), key=lambda one: one.json_path)
    except Exception as error:
        # A reference that leads nowhere shows only here.
        return [f"the schema itself cannot be used: {error}"]
    return [f"{one.json_path}: {one.message[:300]}" for one in errors[:_MAX_ERRORS]]


def _library() -> Any:
    """Return the validating library; it costs more to import than most turns need."""
    return importlib.import_module("jsonschema")
