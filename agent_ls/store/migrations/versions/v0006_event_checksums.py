"""Add a checksum to events; existing events keep none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Go from 0005 to 0006."""
    op.add_column("events", sa.Column("checksum", sa.Text))
