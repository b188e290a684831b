"""Add agent and project to executions and calls, progress to steps, and token totals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Go from 0002 to 0003."""
    for table in ("executions", "calls"):
        for name in ("agent", "project"):
            op.add_column(table, sa.Column(name, sa.Text, nullable=False, server_default=""))
    progress = sa.Column("acceptance_progress", sa.Double, nullable=False, server_default="0")
    op.add_column("steps", progress)
    op.add_column("steps", sa.Column("progress_by", sa.Text, nullable=False, server_default=""))
    for table, name in (("executions", "total_tokens"), ("steps", "tokens_used")):
        op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
        # Older rows have their tokens in two columns.
        op.execute(f"UPDATE {table} SET {name} = input_tokens + output_tokens")
