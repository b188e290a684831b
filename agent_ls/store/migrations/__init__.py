"""The schema's versions and upgrades.

A new store is created with the current schema. Alembic is imported only to upgrade an older one.
"""

from __future__ import annotations

import io
from pathlib import Path

import sqlalchemy as sa

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010")
"""All schema versions, oldest first; a test compares them with the files in ``versions``."""
HEAD = REVISIONS[-1]


def stored_revision(connection: sa.Connection) -> str | None:
    """Return the schema version of a database; None for an empty one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version"))


def upgrade(connection: sa.Connection) -> None:
    """Upgrade the database to the current schema, inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    # Alembic prints to this stream; standard output belongs to the editor.
    config = Config(stdout=io.StringIO())
    # ConfigParser reads a percent sign as the start of a reference.
    here = str(Path(__file__).parent).replace("%", "%%")
    config.set_main_option("script_location", here)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
