"""Runs migrations on the connection that ``upgrade`` hands over; Alembic loads it by its path."""

from __future__ import annotations

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    # All migrations run in the caller's transaction, so that no half migration stays.
    transactional_ddl=True,
)
context.run_migrations()
