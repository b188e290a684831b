"""The schema's versions, and the way from one to the next.

A new store begins with today's schema. Alembic is imported only to upgrade an older one.
"""

from __future__ import annotations

import io
from pathlib import Path

import sqlalchemy as sa

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""All that ever were, in order; a test compares them with the files in ``versions``."""
HEAD = REVISIONS[-1]


def stored_revision(connection: sa.Connection) -> str | None:
    """Return the schema version of a database; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version"))


def upgrade(connection: sa.Connection) -> None:
    """Bring the database to today's schema, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    # It prints to the stream it is given; standard output belongs to the editor.
    config = Config(stdout=io.StringIO())
    # The option goes through ConfigParser, where a percent sign begins a reference.
    here = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", here)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
