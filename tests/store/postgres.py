"""A PostgreSQL server of the tests' own, from the binaries that the machine has.

It refuses to run as root, so then it runs as the user its package made, or as nobody.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

USER, PASSWORD = "agent", "not a s/cret@all"
_STARTS_S = 60


class PostgresMissing(Exception):
    """The machine has no PostgreSQL server."""


@dataclass
class Postgres:
    """A running server, and databases in it for the asking."""

    port: int
    process: subprocess.Popen[bytes]
    host: str = "127.0.0.1"
    _numbers: count[int] = field(default_factory=count)

    def url(self, database: str, *, password: str = PASSWORD) -> str:
        quoted = password.replace("@", "%40").replace("/", "%2F").replace(" ", "%20")
        return f"postgresql://{USER}:{quoted}@{self.host}:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"store_{next(self._numbers)}"
        self.run("postgres", f"CREATE DATABASE {name} TEMPLATE template0")
        return self.url(name)

    def run(self, database: str, statement: str) -> None:
        """Carry out one statement outside of any transaction."""
        url = sa.make_url(self.url(database)).set(drivername="postgresql+pg8000")
        engine = sa.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)


@contextmanager
def running_postgres(host: str = "127.0.0.1", namespace: int = 0) -> Generator[Postgres]:
    """Start a server on a free port of this machine; it and its files are gone afterwards.

    With ``namespace`` it runs in the network of the process with this id, and takes clients from
    the network of ``host``. Errors: ``PostgresMissing``.
    """
    programs = _programs()
    place = Path(tempfile.mkdtemp(prefix="agent-ls-postgres-"))
    owner = _owner(place)
    try:
        _make_cluster(programs, place, owner)
        port = _free_port()
        entered: list[str | Path] = []
        if namespace:
            with (place / "data/pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {host}/24 scram-sha-256\n")
            facts = pwd.getpwnam(owner) if owner else None
            entered = ["nsenter", "-t", str(namespace), "-n"]
            # It would not let root in, and entering takes root.
            entered += ["-S", str(facts.pw_uid), "-G", str(facts.pw_gid)] if facts else []
        server = subprocess.Popen(
            [
                *entered,
                programs / "postgres", "-D", place / "data", "-p", str(port), "-h", host,
                "-k", place, "-c", "fsync=off", "-c", "max_connections=40",
            ],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={"LC_ALL": "C"}, cwd=place,
            user=None if namespace else owner,
        )  # fmt: skip
        try:
            _wait_until_it_answers(server)
            yield Postgres(port, server, host)
        finally:
            # Not SIGTERM, which waits for every connection to end by itself.
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=_STARTS_S)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _programs() -> Path:
    """Return the folder with ``initdb`` and ``postgres``; Debian keeps it out of PATH."""
    on_path = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places += [Path(on_path).resolve().parent] if on_path else []
    for place in places:
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise PostgresMissing("no PostgreSQL server here; install Debian's package `postgresql`")


def _owner(place: Path) -> str | None:
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    owner = "postgres" if "postgres" in known else "nobody"
    shutil.chown(place, owner)
    return owner


def _make_cluster(programs: Path, place: Path, owner: str | None) -> None:
    secret = place / "secret"
    secret.write_text(PASSWORD)
    if owner:
        shutil.chown(secret, owner)
    done = subprocess.run(
        [
            programs / "initdb", "-D", place / "data", "-U", USER, "--pwfile", secret,
            "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
        ],
        capture_output=True, text=True, cwd=place, user=owner, timeout=_STARTS_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _wait_until_it_answers(server: subprocess.Popen[bytes]) -> None:
    assert server.stderr is not None
    said = b""
    for line in server.stderr:
        said += line
        if b"ready to accept connections" in line:
            return
    raise AssertionError(said.decode())


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
