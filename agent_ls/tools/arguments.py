"""The base of all tools' arguments, which forgives common slips of models.

Forgives only what can mean one thing: another agent's name for an argument (``other_words``), a
list written as JSON text or as its single element, null for "not given", and ``./`` in a path.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Self, cast, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from agent_ls.tools.other_words import WORDS, in_our_words


class Arguments(BaseModel):
    """Arguments of one call: unknown ones are an error, so that a wrong name is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: ClassVar[str] = ""
    """The entry in the table of other agents' words."""
    explains: ClassVar[bool] = True
    """Arguments that only explain the call are left out."""
    _left_out: str = PrivateAttr("")
    _beside: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])
    """Other agents' arguments that the tool knows, so that they are not in its schema."""

    @property
    def left_out(self) -> str:
        """Return what was given in vain and why, for the model; empty if nothing was."""
        return self._left_out

    @model_validator(mode="wrap")
    @classmethod
    def _forgive(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        try:
            given, left_out, beside = in_our_words(
                WORDS[cls.words],
                cls.model_fields,
                cast("dict[str, Any]", data),
                explains=cls.explains,
            )
        except (TypeError, KeyError, AttributeError, OverflowError) as error:
            # The readers expect the shapes that other agents' tools have.
            raise ValueError(f"a value has a shape that no argument has ({error})") from error
        for name, facts in cls.model_fields.items():
            if name not in given:
                continue
            if given[name] is None and not facts.is_required():
                del given[name]
            elif get_origin(facts.annotation) is tuple:
                given[name] = _listed(given[name])
        made = handler(given)
        made._left_out, made._beside = left_out, beside
        return made


def _listed(value: Any) -> Any:
    """Return the list that was given as JSON text or as its only element; else the value."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    return [value] if isinstance(value, dict) else value


def tidied(path: str) -> str:
    """Return the path without empty and dot components, so that a file has one name."""
    if path.startswith("/") or "\\" in path:
        return path
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        return "." if path.strip("./ ") == "" and path.strip() else path
    # A final slash says that a folder is meant.
    return "/".join(parts) + ("/" if path.endswith(("/", "/.")) else "")


class _NamesFile:
    """Marks the arguments that guards, scheduling and display take for files."""


PathText = Annotated[str, Field(min_length=1, max_length=4_096), AfterValidator(tidied)]
"""A path as the model writes it."""
PatternText = Annotated[str, Field(min_length=1, max_length=4_096)]
"""A pattern for paths as the model writes it: ``./`` has a meaning in it."""
FilePath = Annotated[PathText, _NamesFile()]
"""A file or folder that the call is about."""


def paths_in(arguments: BaseModel) -> tuple[str, ...]:
    """Return the values of all arguments of type ``FilePath``, or tuples of it, in order."""
    found: list[str] = []
    for name, facts in type(arguments).model_fields.items():
        value: Any = getattr(arguments, name)
        if any(isinstance(one, _NamesFile) for one in facts.metadata):
            found.append(value)
        elif facts.annotation == tuple[FilePath, ...]:
            found += value
    return tuple(found)
