"""The frozen pydantic base class of everything that is stored, sent or configured."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """An immutable value; unknown fields are an error, which catches typos."""

    # A command of the command line uses a few of several hundred; ``build_records`` builds all.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def build_records() -> None:
    """Build the validators of all records, each of which would be built when it is first used."""
    kinds: list[type[BaseModel]] = [Record]
    while kinds:
        kind = kinds.pop()
        kind.model_rebuild()
        kinds += kind.__subclasses__()


class Trust(Enum):
    """What a repository may do with a setting, through a folder's file or the editor's settings.

    Stands in the type of an option, as in ``Annotated[int, Trust.LOWER]``; without it a trusted
    folder may set the option and any other may not.
    """

    NEVER = "only the user file, the environment and the command line set it"
    LOWER = "a folder that is not trusted may set it, too, to a smaller number; 0 is no limit"
