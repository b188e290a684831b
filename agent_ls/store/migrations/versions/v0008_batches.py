"""Add the queue of batches, and whose a session is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Go from 0007 to 0008."""
    op.create_table(
        "batches",
        sa.Column("batch_id", sa.String, primary_key=True),
        *(_text(name) for name in ("name", "state")),
        _count("created_ms"),
        sa.Column("cap_usd", sa.Double),
        _text("options"),
    )
    batch = sa.ForeignKey("batches.batch_id", ondelete="CASCADE")
    op.create_table(
        "batch_tasks",
        sa.Column("batch_id", sa.String, batch, primary_key=True),
        sa.Column("task_id", sa.String, primary_key=True),
        _count("position"),
        *(_text(name) for name in ("spec", "labels")),
        sa.Column("state", sa.Text, nullable=False, server_default="waiting"),
        _count("attempt"),
        _text("owner"),
        _count("lease_ms"),
        sa.Column("budget_usd", sa.Double, nullable=False, server_default="0"),
        sa.Column("cost_usd", sa.Double, nullable=False, server_default="0"),
        *(_text(name) for name in ("folder_uri", "session_id", "base_commit")),
        *(_count(name) for name in ("started_ms", "finished_ms")),
        _text("result"),
        sa.Column("patch", sa.LargeBinary),
    )
    op.add_column("sessions", _text("user_name"))
    op.create_index("ix_batch_tasks_session", "batch_tasks", ["session_id"])


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default="0")
