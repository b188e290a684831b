"""Where a store is: an SQLite file, or the URL of a PostgreSQL database.

Parses locations and sets file modes; opens no database.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from agent_ls.domain.errors import StoreError

_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRES_PORT = 5432


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a store."""

    path: Path | None
    """The file, absolute; None for a server."""
    url: str = field(repr=False)
    """The server's URL with its driver and credentials; empty for a file."""
    shown: str
    """For display; never has a password."""


def locate(place: str | Path) -> Location:
    """Return what ``place`` names: an absolute file path, ``sqlite:///…`` or ``postgresql://…``.

    Errors: ``StoreError`` for a relative path, a server URL without a user, and an unsupported
    kind of database.
    """
    text = str(place)
    scheme, separator, _ = text.partition("://")
    if not separator:
        return _file(Path(text))
    if scheme in _SQLITE:
        return _file(Path(unquote(urlsplit(text).path.removeprefix("/"))))
    if scheme == "postgres" or scheme.partition("+")[0] == "postgresql":
        return _server(text)
    raise StoreError(
        f"A store cannot be of the kind {scheme!r}; "
        "give the path of a file, or a URL that begins with postgresql://."
    )


def prepare_file(path: Path) -> None:
    """Make sure that the file exists and that only its owner can read it.

    Errors: ``OSError``; ``StoreError`` if the path is not a regular file.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(
                f"The store {path} is not a file; move it away or choose another place."
            )
        if found.st_mode & 0o077:
            # SQLite gives its -wal and -shm files this file's mode. Only the owner may change
            # the mode; failure is harmless.
            with contextlib.suppress(PermissionError):
                os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _file(path: Path) -> Location:
    path = path.expanduser()
    if not path.is_absolute():
        raise StoreError(f"The store's path {str(path)!r} is relative; give it from the root on.")
    return Location(path=path, url="", shown=str(path))


def _server(text: str) -> Location:
    parts = urlsplit(text)
    _, _, driver = parts.scheme.partition("+")
    if driver not in ("", "pg8000"):
        raise StoreError(
            f"agent-ls reaches PostgreSQL by pg8000 and not by {driver}: begin the store's URL "
            "with postgresql://."
        )
    query = dict(parse_qsl(parts.query))
    if not (parts.username or query.get("user")):
        raise StoreError(
            "The store's URL names no user: write it as postgresql://USER@HOST:PORT/DATABASE."
        )
    if query.get("host", "").startswith("/"):
        # libpq takes the socket's folder; pg8000 takes the socket itself.
        port = parts.port or _POSTGRES_PORT
        query["unix_sock"] = f"{query.pop('host')}/.s.PGSQL.{port}"
    host = parts.hostname or "localhost"
    if parts.port:
        host = f"{host}:{parts.port}"
    url = urlunsplit(("postgresql+pg8000", parts.netloc, parts.path, urlencode(query), ""))
    return Location(path=None, url=url, shown=f"postgresql://{host}{parts.path}")
