"""Checks a call's arguments against the schema that the server gave for its tool."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, JsonValue, RootModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

_MAX_ERRORS = 5
_MAX_MESSAGE_CHARS = 300


class Given(RootModel[dict[str, JsonValue]]):
    """The arguments of one call, which fit the schema; hooks see them as the model wrote them."""

    model_config = ConfigDict(frozen=True)

    @property
    def values(self) -> dict[str, JsonValue]:
        """Return the arguments by name."""
        return self.root


@dataclass(frozen=True, slots=True)
class SchemaArguments:
    """Takes the place of a pydantic model in a tool whose arguments have a JSON schema.

    The schema is one of ``definitions``: without references and patterns, so checking is linear.
    """

    schema: Mapping[str, JsonValue]

    def model_validate(self, values: dict[str, JsonValue]) -> Given:
        """Return the arguments; errors: ``ValidationError`` if they do not fit."""
        if problems := list(self._problems(values)):
            raise ValidationError.from_exception_data("arguments", problems)
        return Given(values)

    def _problems(self, values: dict[str, JsonValue]) -> Iterator[InitErrorDetails]:
        # Imported late, because most sessions have no tool servers.
        validator: Any = importlib.import_module("jsonschema").Draft202012Validator(self.schema)
        for number, error in enumerate(validator.iter_errors(values)):
            if number == _MAX_ERRORS:
                return
            message = str(error.message)[:_MAX_MESSAGE_CHARS]
            yield InitErrorDetails(
                type=PydanticCustomError("schema", "{problem}", {"problem": message}),
                loc=tuple(error.absolute_path),
                input=None,
            )
