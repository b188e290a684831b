"""The schema's versions, and the upgrade of a store that an older agent-ls made.

Schemas have only grown so far, so an upgrade adds the columns and indexes that are missing and
fills them from what the store has. A schema that takes something away needs a step of its own.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn

from agent_ls.store import schema

VERSIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""All schema versions, oldest first; a change of ``schema.py`` adds one."""
HEAD = VERSIONS[-1]

_FILLED = (
    *(
        f"UPDATE {table} SET {column} = input_tokens + output_tokens WHERE {column} = 0"
        for table, column in (("executions", "total_tokens"), ("steps", "tokens_used"))
    ),
    *(
        f"UPDATE {table} SET {column} = (SELECT s.{source} FROM sessions s "
        f"WHERE s.session_id = {table}.session_id) WHERE {column} = ''"
        for table in ("executions", "calls")
        for column, source in (("project", "roots"), ("agent", "agent"))
    ),
)


def stored_version(connection: sa.Connection) -> str | None:
    """Return the schema version of a database; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version"))


def create(connection: sa.Connection) -> None:
    """Create the current tables in an empty database, inside the caller's transaction."""
    schema.metadata.create_all(connection)
    # Stores of older versions have this table from Alembic.
    connection.execute(
        sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    )
    connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the database to the current schema, inside the caller's transaction."""
    inspector = sa.inspect(connection)
    for table in schema.metadata.sorted_tables:
        there = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                words = CreateColumn(column).compile(dialect=connection.dialect)
                connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN {words}"))
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    for statement in _FILLED:
        connection.execute(sa.text(statement))
    _fill_cursors(connection)
    _fill_origins(connection)
    connection.execute(sa.text("UPDATE alembic_version SET version_num = :head"), {"head": HEAD})


def _fill_cursors(connection: sa.Connection) -> None:
    """Add agent and project to the cursors of old sessions, for their next events."""
    rows = connection.execute(sa.text("SELECT session_id, cursor, roots, agent FROM sessions"))
    for session_id, cursor, roots, agent in rows.all():
        known = json.loads(cursor)
        if not known.get("project"):
            filled = json.dumps({**known, "project": roots, "agent": agent})
            _set_session(connection, session_id, cursor=filled)


def _fill_origins(connection: sa.Connection) -> None:
    """Copy fork origin and dry-run flag from the first events of old sessions."""
    rows = connection.execute(sa.text("SELECT session_id, body FROM events WHERE seq = 1"))
    for session_id, body in rows.all():
        created = json.loads(body)
        forked_from, is_dry_run = created.get("forked_from", ""), created.get("dry_run", False)
        if forked_from or is_dry_run:
            _set_session(connection, session_id, forked_from=forked_from, is_dry_run=is_dry_run)


def _set_session(connection: sa.Connection, session_id: str, **values: object) -> None:
    table = schema.sessions
    connection.execute(sa.update(table).where(table.c.session_id == session_id).values(values))
