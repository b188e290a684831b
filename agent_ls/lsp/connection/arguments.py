"""What commands are given, read by the types of their parameters: one way for all of them.

A command never means more than was said. What is absent or null has the parameter's default;
what is there fits the parameter's type, or is refused before the command begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from agent_ls.domain.errors import AgentLsError
from agent_ls.domain.mistakes import mistakes_said

Command = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Takes:
    """What a parameter takes, in words for a person; stands in its annotation."""

    words: str


def arguments_of(name: str, command: Command, given: Sequence[Any]) -> list[Any]:
    """Return what a command is called with, behind the edge.

    Errors: ``AgentLsError`` for more than it takes, for what does not fit, and for what is missing.
    """
    parameters = _parameters(command)
    if len(given) > len(parameters):
        count = len(parameters) or "no"
        raise AgentLsError(f"This command takes {count} arguments, not {len(given)}.")
    found: list[Any] = []
    for position, parameter in enumerate(parameters):
        value = given[position] if position < len(given) else None
        if value is not None:
            found.append(read(parameter.annotation, value, name=name))
        elif parameter.default is not parameter.empty:
            found.append(parameter.default)
        else:
            raise AgentLsError(f"{name} needs {_words(parameter.annotation)}.")
    return found


def read(kind: Any, value: Any, *, name: str) -> Any:
    """Return a value as this type. Errors: ``AgentLsError`` that says what is wrong with it."""
    try:
        return _adapter(kind).validate_python(value)
    except ValidationError as error:
        why = mistakes_said(error)
    takes = _words(kind)
    raise AgentLsError(
        f"{name} needs {takes}. The argument is not understood: {why}."
        if takes
        else f"{name}: the argument is not understood: {why}."
    )


@cache
def _parameters(command: Command) -> tuple[inspect.Parameter, ...]:
    # The first one is the edge.
    return tuple(inspect.signature(command, eval_str=True).parameters.values())[1:]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _words(kind: Any) -> str:
    return next((one.words for one in get_args(kind) if isinstance(one, Takes)), "")
