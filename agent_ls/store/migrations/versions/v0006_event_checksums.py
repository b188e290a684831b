"""Events get a checksum; those that are there already stay without one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Go from 0005 to 0006."""
    op.add_column("events", sa.Column("checksum", sa.Text))
