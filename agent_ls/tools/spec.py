"""A tool as the model sees it: a compact JSON schema of its arguments."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from pydantic import BaseModel, JsonValue

from agent_ls.domain.model_io import ToolSpec
from agent_ls.loop.extension_points import Tool

_NOISE = frozenset(
    {
        *("title", "default", "additionalProperties", "pattern"),
        *("minLength", "maxLength", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum"),
    }
)
"""Parts that cost tokens in every request and that models ignore; validation still applies them."""


def spec_of(tool: Tool[Any]) -> ToolSpec:
    """Return the tool's name, description and parameters."""
    return ToolSpec(
        name=tool.name, description=tool.description, parameters=parameters_of(tool.Arguments)
    )


@cache
def parameters_of(arguments: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the schema of an argument model, with references inlined and without noise.

    Cached, because it takes milliseconds.
    """
    schema = arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    parameters = _compact(schema, definitions)
    parameters.pop("description", None)
    parameters.setdefault("properties", {})
    return cast("dict[str, JsonValue]", parameters)


def _compact(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if (name := schema.get("$ref")) is not None:
        target = _compact(definitions[name.rpartition("/")[2]], definitions)
        target.pop("description", None)
        return target | {k: v for k, v in schema.items() if k == "description"}
    if (options := schema.get("anyOf")) is not None:
        # "x or null" becomes x, because the argument is not required.
        real = [one for one in options if one.get("type") != "null"]
        if len(real) == 1:
            rest = {k: v for k, v in schema.items() if k != "anyOf"}
            return _compact(real[0] | rest, definitions)
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NOISE:
            continue
        if key == "properties":
            found[key] = {name: _compact(one, definitions) for name, one in value.items()}
        elif key == "items":
            found[key] = _compact(value, definitions)
        else:
            found[key] = value
    return found
