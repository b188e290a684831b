"""The one frozen pydantic base of everything that is stored or sent."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A value: immutable, and strict about unknown fields so that a typo is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
