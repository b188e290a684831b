"""Runs migrations on the connection that ``upgrade`` hands over; Alembic loads it by its path."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    # The caller's transaction holds them all: half a migration must not stay.
    transactional_ddl=True,
)
context.run_migrations()
