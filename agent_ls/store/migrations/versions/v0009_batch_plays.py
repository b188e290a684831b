"""Add to batch tasks how often they were played, what that cost, and how many workers died."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Go from 0008 to 0009."""
    for name in ("deaths", "plays"):
        column = sa.Column(name, sa.BigInteger, nullable=False, server_default="0")
        op.add_column("batch_tasks", column)
    earlier_usd = sa.Column("earlier_usd", sa.Double, nullable=False, server_default="0")
    op.add_column("batch_tasks", earlier_usd)
