"""Add to batch tasks the sessions of earlier plays, so that their costs keep the labels."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Go from 0009 to 0010."""
    column = sa.Column("earlier_sessions", sa.Text, nullable=False, server_default="")
    op.add_column("batch_tasks", column)
