"""Add a flag for archived sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Go from 0006 to 0007."""
    is_archived = sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("sessions", is_archived)
