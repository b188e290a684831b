"""The base of all tools' arguments, which forgives common slips of models.

Forgives only what can mean one thing: another common name for an argument, a list written as JSON
text or as its single element, null for "not given", and ``./`` in a path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, cast, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_PATH_NAMES = ("file_path", "filepath", "filename", "file")


class Arguments(BaseModel):
    """Arguments of one call: unknown ones are an error, so that a wrong name is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {"path": _PATH_NAMES}
    """What models also call an argument; counts only where the real name is not given."""

    @model_validator(mode="before")
    @classmethod
    def _forgive(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = dict(cast("dict[str, Any]", data))
        for name in cls.model_fields.keys() - given.keys():
            for other in cls.other_names.get(name, ()):
                if other in given and other not in cls.model_fields:
                    given[name] = given.pop(other)
                    break
        for name, facts in cls.model_fields.items():
            if name not in given:
                continue
            if given[name] is None and not facts.is_required():
                del given[name]
            elif get_origin(facts.annotation) is tuple:
                given[name] = _listed(given[name])
        return given


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
"""A path or pattern as the model writes it."""
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
