"""The first schema. No store is made by it any more: a new one begins with today's."""

from __future__ import annotations

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: only stores that have this schema are upgraded."""
