"""The first schema. New stores are created with the current schema instead."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: only stores that have this schema are upgraded."""
