"""JSON schemas that a person gives for a turn's output: whether one is valid, and what fits it.

Nothing is fetched: a reference to another document is an error.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, cast

from pydantic import JsonValue

from agent_ls.domain.errors import SettingsError

Schema = dict[str, JsonValue]

_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keys below which values stand and no schemas."""
_MAX_ERRORS = 5
_PATTERN_S = 0.2


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
    if wrong := _broken_reference(schema):
        raise SettingsError(f"{name} is no usable JSON schema: {wrong}.")
    return schema


def _broken_reference(schema: Schema) -> str:
    """Return what is wrong with the first reference that cannot be followed; empty if all can."""
    subschemas = list(_objects(schema))
    if any("$id" in one for one in subschemas):
        # What a reference is relative to changes within it; only violations finds out.
        return ""
    specification = importlib.import_module("referencing.jsonschema").DRAFT202012
    registry = importlib.import_module("referencing").Registry()
    resolver = registry.with_resource("", specification.create_resource(schema)).resolver()
    unresolvable = importlib.import_module("referencing.exceptions").Unresolvable
    for one in subschemas:
        seen: list[Schema] = []
        target = one
        while isinstance(reference := target.get("$ref"), str):
            if any(target is earlier for earlier in seen):
                return f"the reference {reference} leads back to itself"
            seen.append(target)
            try:
                found = resolver.lookup(reference).contents
            except unresolvable:
                return f"the reference {reference} leads nowhere"
            target = cast("Schema", found) if isinstance(found, dict) else {}
    return ""


def _objects(value: JsonValue) -> Iterator[Schema]:
    """Yield every object of a schema that may be a schema itself."""
    if isinstance(value, list):
        for one in value:
            yield from _objects(one)
    elif isinstance(value, dict):
        yield value
        for key, one in value.items():
            if key not in _VALUES:
                yield from _objects(one)


def violations(value: JsonValue, schema: Schema) -> list[str]:
    """Return what of a value does not fit the schema, by place; empty when all fits."""
    library = _library()
    registry = importlib.import_module("referencing").Registry()
    plain = library.validators.validator_for(schema)
    bounded = library.validators.extend(plain, {"pattern": _pattern})
    validator = bounded(schema, registry=registry)
    try:
        errors = sorted(validator.iter_errors(value), key=lambda one: one.json_path)
    except Exception as error:
        # A reference that leads nowhere shows only here.
        return [f"the schema itself cannot be used: {error}"]
    return [f"{one.json_path}: {one.message[:300]}" for one in errors[:_MAX_ERRORS]]


def _pattern(validator: Any, pattern: str, instance: JsonValue, schema: Schema) -> Iterator[Any]:
    """Yield an error for a text without the pattern, found within a time that ends.

    The usual search holds the whole process for as long as a pattern goes back and forth.
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
    """Return the validating library; it costs more to import than most turns need."""
    return importlib.import_module("jsonschema")
