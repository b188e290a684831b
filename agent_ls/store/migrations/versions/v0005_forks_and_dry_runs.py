"""Add fork origin and dry-run flag to sessions."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Go from 0004 to 0005."""
    forked_from = sa.Column("forked_from", sa.Text, nullable=False, server_default="")
    op.add_column("sessions", forked_from)
    is_dry_run = sa.Column("is_dry_run", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("sessions", is_dry_run)
    connection = op.get_bind()
    # Older sessions have both in their first event.
    rows = connection.execute(sa.text("SELECT session_id, body FROM events WHERE seq = 1"))
    for session_id, body in rows.all():
        created = json.loads(body)
        found = {
            "forked_from": created.get("forked_from", ""),
            "is_dry_run": created.get("dry_run", False),
        }
        if any(found.values()):
            connection.execute(
                sa.text(
                    "UPDATE sessions SET forked_from = :forked_from, is_dry_run = :is_dry_run "
                    "WHERE session_id = :session_id"
                ),
                {**found, "session_id": session_id},
            )
