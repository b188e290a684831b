"""The shape all tools' arguments share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Arguments(BaseModel):
    """Arguments of one call: unknown ones are an error, so that a wrong name is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


FilePath = Annotated[str, Field(min_length=1, max_length=4_096)]
"""A path as the model writes it."""
