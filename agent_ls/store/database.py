"""One database connection: opened, migrated to the current schema, used in transactions.

Only the writer's thread uses it. Raises the driver's exceptions; ``faults.explain`` converts them.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from agent_ls.domain.errors import StoreError
from agent_ls.store import migrations, schema
from agent_ls.store.faults import Damage
from agent_ls.store.location import Location, prepare_file

# When a connection breaks, this logger would repeat the statement with the user's text.
logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)

_BUSY_MS = 10_000
_ANSWER_S = 4
"""Limit for connecting to PostgreSQL and each answer; a frozen server is reported within 5 s."""
_MIGRATION_S = 60
"""Limit for each statement of a migration, and for waiting on another server's migration."""
_IDLE_MS = 10_000
"""PostgreSQL ends an idle transaction after this, so that a dead client's locks do not stay."""
_QUICK_BYTES = 64 * 2**20
"""Largest file whose pages are all checked on opening; that takes about 0.2 s."""
_MIGRATION_LOCK = 0x61_67_65_6E_74
"""Key of an advisory lock: any number that all agent-ls servers share and nothing else uses."""


class Database:
    """An open connection to a database with the current schema."""

    def __init__(self, location: Location) -> None:
        """Open and migrate the database; call ``close`` even if a later transaction fails."""
        self._location = location
        self._takes_lock = True
        self._engine = self._sqlite() if location.path is not None else self._postgres()
        try:
            self._connection = self._engine.connect()
            self._migrate()
        except BaseException:
            self._engine.dispose()
            raise

    @contextmanager
    def transaction(self, *, is_write: bool) -> Generator[sa.Connection]:
        """Yield the connection in a transaction: committed at the end, rolled back on error."""
        self._takes_lock = is_write
        with self._connection.begin():
            yield self._connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
        self._engine.dispose()

    def _sqlite(self) -> sa.Engine:
        path = self._location.path
        assert path is not None
        prepare_file(path)
        url = sa.URL.create("sqlite", database=str(path))
        engine = sa.create_engine(url, poolclass=NullPool)

        def on_connect(driver: sa.PoolProxiedConnection, _entry: ConnectionPoolEntry) -> None:
            # The driver's own transaction handling leaves schema changes outside transactions.
            driver.isolation_level = None  # pyright: ignore[reportAttributeAccessIssue]
            # Damaged bytes may not be UTF-8; the checksum detects the damage later.
            driver.text_factory = _text  # pyright: ignore[reportAttributeAccessIssue]
            cursor = driver.cursor()
            cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA foreign_keys=ON")
            cursor.close()

        def on_begin(connection: sa.Connection) -> None:
            # Taking the write lock at once avoids a deadlock of two readers that both want it.
            connection.exec_driver_sql("BEGIN IMMEDIATE" if self._takes_lock else "BEGIN")

        event.listen(engine, "connect", on_connect)
        event.listen(engine, "begin", on_begin)
        return engine

    def _postgres(self, answer_s: int = _ANSWER_S) -> sa.Engine:
        url = sa.make_url(self._location.url)
        options: dict[str, object] = {"timeout": answer_s, "application_name": "agent-ls"}
        url = _with_tls(url, options)
        engine = sa.create_engine(url, poolclass=NullPool, connect_args=options)

        def on_connect(driver: sa.PoolProxiedConnection, _entry: ConnectionPoolEntry) -> None:
            cursor = driver.cursor()
            # Acknowledged commits must survive a server crash, whatever the server's default.
            cursor.execute("SET synchronous_commit TO on")
            # Shorter than our own limit, so that the server can still report the reason.
            cursor.execute(f"SET lock_timeout TO {answer_s * 1000 - 1000}")
            cursor.execute(f"SET statement_timeout TO {answer_s * 1000 - 500}")
            cursor.execute(f"SET idle_in_transaction_session_timeout TO {_IDLE_MS}")
            cursor.close()
            driver.commit()

        event.listen(engine, "connect", on_connect)
        return engine

    def _migrate(self) -> None:
        with self.transaction(is_write=False) as connection:
            revision = self._revision(connection)
            self._check(connection, revision)
        if self._location.path is not None:
            # Only after the check, because it changes the file, which may be another program's.
            # Through the driver, because SQLAlchemy would begin a transaction around it.
            cursor = self._connection.connection.cursor()
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.close()
        if revision == migrations.HEAD:
            return
        with self._migrating() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(
                    sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK}
                )
            # Another server may have migrated while this one waited for the lock.
            match self._revision(connection):
                case None:
                    _create_tables(connection)
                case migrations.HEAD:
                    pass
                case _:
                    migrations.upgrade(connection)

    @contextmanager
    def _migrating(self) -> Generator[sa.Connection]:
        if self._location.path is not None:
            with self.transaction(is_write=True) as connection:
                yield connection
            return
        # A migration may change every row, so it gets a longer time limit.
        with self._postgres(_MIGRATION_S).begin() as connection:
            yield connection

    def _check(self, connection: sa.Connection, revision: str | None) -> None:
        """Check for damage where that is quick. Errors: ``Damage``, or the driver's exception.

        SQLite has already checked the file's header and length.
        """
        path = self._location.path
        if path is not None and path.stat().st_size <= _QUICK_BYTES:
            found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
            if found != "ok":
                raise Damage("The store", found)
        if revision == migrations.HEAD:
            # As text: compiling these selects took nine tenths of opening a store.
            quote = connection.dialect.identifier_preparer.quote
            for table in schema.metadata.sorted_tables:
                columns = ", ".join(quote(column.name) for column in table.columns)
                connection.exec_driver_sql(f"SELECT {columns} FROM {quote(table.name)} LIMIT 0")

    def _revision(self, connection: sa.Connection) -> str | None:
        """Return the schema's version; None for an empty database.

        Errors: ``StoreError`` if the schema is newer than this program or the file is another
        program's; ``Damage`` if the version is missing.
        """
        revision = migrations.stored_revision(connection)
        if revision is not None and revision not in migrations.REVISIONS:
            raise StoreError(
                f"The store {self._location.shown} was made by a newer agent-ls "
                f"(schema {revision}). Upgrade agent-ls, or choose another place for the "
                "store in the settings."
            )
        if revision is None:
            tables = sa.inspect(connection).get_table_names()
            if "alembic_version" in tables:
                raise Damage("The store", "its version is missing")
            if tables and self._location.path is not None:
                raise StoreError(
                    f"{self._location.shown} is a database of another program (it has the table "
                    f"{tables[0]!r}). It was left as it is; choose another place for the store "
                    "in the settings."
                )
        return revision


def _create_tables(connection: sa.Connection) -> None:
    """Create the current tables in an empty database."""
    schema.metadata.create_all(connection)
    connection.execute(
        sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    )
    head = {"head": migrations.HEAD}
    connection.execute(sa.text("INSERT INTO alembic_version VALUES (:head)"), head)


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _with_tls(url: sa.URL, options: dict[str, object]) -> sa.URL:
    """Translate libpq's ``sslmode`` into pg8000's ``ssl_context``; return the URL without it."""
    import ssl

    mode = url.query.get("sslmode")
    if mode == "disable":
        options["ssl_context"] = False
    elif mode == "require":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        options["ssl_context"] = context
    elif mode == "verify-full":
        options["ssl_context"] = True
    elif mode not in (None, "prefer", "allow"):
        raise StoreError(
            f"sslmode={mode} in the store's URL is not known: use disable, prefer, require or "
            "verify-full."
        )
    return url.difference_update_query(["sslmode"])
