"""Add the time of storing to blobs, and fill in agent and project of older rows."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Go from 0003 to 0004."""
    stored = sa.Column("stored_ms", sa.BigInteger, nullable=False, server_default="0")
    op.add_column("blobs", stored)
    for table in ("executions", "calls"):
        for name, source in (("project", "roots"), ("agent", "agent")):
            owner = f"(SELECT s.{source} FROM sessions s WHERE s.session_id = {table}.session_id)"
            op.execute(f"UPDATE {table} SET {name} = {owner} WHERE {name} = ''")
    _tell_cursors()


def _tell_cursors() -> None:
    """Add agent and project to the cursors of old sessions, for their next events."""
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT session_id, cursor, roots, agent FROM sessions"))
    for session_id, cursor, roots, agent in rows.all():
        known = json.loads(cursor)
        if known.get("project"):
            continue
        connection.execute(
            sa.text("UPDATE sessions SET cursor = :cursor WHERE session_id = :session_id"),
            {
                "cursor": json.dumps({**known, "project": roots, "agent": agent}),
                "session_id": session_id,
            },
        )
