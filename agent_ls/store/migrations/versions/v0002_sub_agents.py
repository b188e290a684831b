"""Add the parent session and the kind of sub-agent to sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Go from 0001 to 0002."""
    for name in ("parent_id", "agent"):
        op.add_column("sessions", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.create_index("ix_sessions_parent", "sessions", ["parent_id"])
