"""A store that cannot be used says why and what to do, and damages nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from agent_ls.domain import events as ev
from agent_ls.domain.errors import StoreError
from agent_ls.domain.phases import Phase
from agent_ls.store import faults
from agent_ls.store.location import locate
from agent_ls.store.sql_store import open_store
from tests.store.postgres import Postgres
from tests.store.stories import TURN, Journal, created, noise, sa_engine

# pg8000 leaves the socket of a server that refused or froze to the garbage collector.
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(autouse=True)
def no_sockets_left_to_others() -> Iterator[None]:
    """Collect what a test leaves while its own filter holds, and not in whichever comes next."""
    yield
    gc.collect()


async def check(place: str, *words: str) -> None:
    """Assert that using the store fails, in words that hold all of these, and twice alike."""
    store = open_store(place)
    for _ in range(2):
        with pytest.raises(StoreError) as failed:
            await store.append(Journal().all(created()), durable=True)
        for word in words:
            assert re.search(word, str(failed.value)), str(failed.value)
    with contextlib.suppress(StoreError):
        await store.close()


def a_folder(path: Path) -> None:
    path.mkdir()


def some_text(path: Path) -> None:
    path.write_text("These are my notes, not a database.\n" * 40)


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("")


def newer_store(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")


def a_database_of_others(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE cookies (name TEXT)")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(a_folder, ["Is a directory", "Check that its folder"], id="a folder"),
        pytest.param(some_text, ["is not a store", "left as it was|left as it is"], id="text"),
        pytest.param(below_a_file, ["exists|directory"], id="below a file"),
        pytest.param(newer_store, ["newer agent-ls", "schema 9999", "Upgrade"], id="newer schema"),
        pytest.param(a_database_of_others, ["another program", "'cookies'"], id="others' database"),
        pytest.param(a_pipe, ["is not a file"], id="a pipe"),
    ],
)
async def test_what_is_no_store_is_left_alone(
    tmp_path: Path, make: Callable[[Path], None], words: list[str]
) -> None:
    path = tmp_path / "data" / "store.db"
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else None
    await check(str(path), re.escape(str(path)), *words)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("store.db", "relative"),
        ("mysql://me@there/store", "'mysql'.*postgresql://"),
        ("sqlite:///store.db", "relative"),
    ],
)
def test_a_place_that_cannot_be_a_store_is_refused_at_once(place: str, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        open_store(place)


SAME_WORDS = (
    r" cannot be read: it is damaged.*left as it is; nothing is written over what is damaged\. "
    r"Restore a backup of the (file, rescue .*\.recover|database)"
)
"""How all damage is told."""

EVENT_DAMAGE = [
    pytest.param("body = replace(body, 'three', 'thrEe')", id="a letter"),
    pytest.param("body = replace(body, 'prepare', 'compact')", id="another word that is valid"),
    pytest.param("body = substr(body, 1, 20)", id="cut off"),
    pytest.param("body = '{}'", id="empty"),
    pytest.param("body = '[]'", id="a list"),
    pytest.param("type = 'mowed'", id="its type"),
    pytest.param("v = 7", id="its version"),
    pytest.param("at_ms = at_ms + 1", id="its time"),
    pytest.param("checksum = replace(checksum, substr(checksum, 1, 1), 'g')", id="the checksum"),
]


async def damaged_store(place: str, change: str) -> list[ev.StoredEvent]:
    """Store three events, and change the second behind the store's back."""
    store = open_store(place)
    events = Journal().all(created(), ev.Moved(to=Phase.PREPARE, why="three"), noise())
    await store.append(events, durable=True)
    await store.close()
    with sa_engine(place).begin() as connection:
        changed = connection.execute(sa.text(f"UPDATE events SET {change} WHERE seq = 2"))
        assert changed.rowcount == 1
    return events


@pytest.mark.parametrize("change", EVENT_DAMAGE)
async def test_an_event_that_is_not_what_was_stored_is_damage(place: str, change: str) -> None:
    await damaged_store(place, change)
    store = open_store(place)
    with pytest.raises(StoreError, match="^Event 2 of ses_1" + SAME_WORDS) as failed:
        await store.load("ses_1")
    assert store.shown in str(failed.value)
    assert await store.search("three") == []
    await store.close()


async def test_bytes_of_an_event_that_are_no_text_are_damage(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    await damaged_store(place, "body = CAST(replace(CAST(body AS BLOB), x'74', x'ff') AS TEXT)")
    store = open_store(place)
    with pytest.raises(StoreError, match="^Event 2 of ses_1" + SAME_WORDS):
        await store.load("ses_1")
    await store.close()


async def test_an_event_without_a_checksum_is_an_older_ones_and_is_read(place: str) -> None:
    events = await damaged_store(place, "checksum = NULL")
    store = open_store(place)
    assert await store.load("ses_1") == events
    await store.close()


async def test_a_damaged_projection_is_told_in_the_same_words(place: str) -> None:
    store = open_store(place)
    await store.append(Journal().all(created()), durable=True)
    await store.close()
    with sa_engine(place).begin() as connection:
        connection.execute(sa.text("UPDATE sessions SET cursor = '{\"s', roots = '[\"ab'"))
    store = open_store(place)
    with pytest.raises(StoreError, match="^A row" + SAME_WORDS):
        await store.sessions()
    with pytest.raises(StoreError, match="^A row" + SAME_WORDS):
        await store.append(Journal(seq=1).all(noise()), durable=True)
    await store.close()


def no_header(data: bytearray) -> bytes:
    return bytes(100) + data[100:]


def a_short_rest(data: bytearray) -> bytes:
    return bytes(data[40:340])


def half(data: bytearray) -> bytes:
    return bytes(data[: len(data) // 2])


def bad_pages(data: bytearray) -> bytes:
    for at in range(4096, len(data), 4096):
        data[at : at + 200] = b"\xff" * 200
    return bytes(data)


def bad_schema(data: bytearray) -> bytes:
    return bytes(data).replace(b"CREATE TABLE events", b"CREATE TABLE evexxs")


@pytest.mark.parametrize("damage", [no_header, a_short_rest, half, bad_pages, bad_schema])
async def test_a_damaged_file_is_told_when_it_is_opened_and_stays_as_it_is(
    tmp_path: Path, damage: Callable[[bytearray], bytes]
) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    await store.append(Journal().all(created(), *map(noise, "abc" * 50)), durable=True)
    await store.close()
    path.write_bytes(damage(bytearray(path.read_bytes())))
    before = path.read_bytes()
    for _ in range(2):
        store = open_store(path)
        with pytest.raises(StoreError, match="^The store" + SAME_WORDS) as failed:
            await store.ready()
        assert str(path) in str(failed.value)
        with pytest.raises(StoreError, match="^The store" + SAME_WORDS):
            await store.append(Journal().all(created("ses_2")), durable=True)
        with contextlib.suppress(StoreError):
            await store.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE batch_tasks",
        "ALTER TABLE events RENAME COLUMN body TO corpse",
        "DELETE FROM alembic_version",
    ],
)
async def test_a_schema_with_a_part_missing_is_told_when_it_is_opened(
    place: str, change: str
) -> None:
    store = open_store(place)
    await store.ready()
    await store.close()
    with sa_engine(place).begin() as connection:
        connection.execute(sa.text(change))
    store = open_store(place)
    with pytest.raises(StoreError, match="^The store" + SAME_WORDS):
        await store.ready()
    await store.close()


async def test_a_newer_agent_ls_that_wrote_an_event_is_told_from_damage(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    await store.append(Journal().all(created(), noise()), durable=True)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE events SET type = 'dreamt', v = 3, body = ? WHERE seq = 2",
            ('{"type":"dreamt","v":3}',),
        )
    with pytest.raises(StoreError, match=r"newer agent-ls wrote it.*'dreamt', version 3.*upgrade"):
        await store.load("ses_1")
    await store.close()


async def test_the_file_and_its_companions_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "agent-ls" / "store.db"
    store = open_store(path)
    await store.append(Journal().all(created()), durable=True)
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await store.close()


async def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(mode=0o644)
    store = open_store(path)
    await store.ready()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await store.close()


async def test_events_wait_for_a_store_that_somebody_keeps_locked(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    events = Journal().all(created(), noise())
    await store.append(events[:1], durable=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.append(events[1:], durable=True))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        other.execute("COMMIT")
    await waiting
    assert await store.load("ses_1") == events
    await store.close()


async def test_a_lock_that_never_ends_is_told_and_the_events_are_stored_later(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    store = open_store(path)
    events = Journal().all(created(), noise(), noise())
    await store.append(events[:1], durable=True)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="keeps it locked"):
            await store.append(events[1:2], durable=True)
        other.execute("COMMIT")
    await store.append(events[2:], durable=True)
    assert await store.load("ses_1") == events
    await store.close()


# A child, because a full disk and a disk that refuses writes are the whole process's trouble.
FULL_DISK = """
import asyncio, os, resource, sys
from agent_ls.domain.errors import StoreError
from agent_ls.store.sql_store import open_store
from tests.store.stories import Journal, created, noise

async def main(path, how):
    store = open_store(path)
    journal = Journal()
    stored = [journal.next(created())]
    await store.append(stored, durable=True)
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    try:
        for _ in range(400):
            stored.append(journal.next(noise("x" * 4_000)))
            await store.append(stored[-1:], durable=journal.seq % 3 == 0)
        raise SystemExit("it never filled up")
    except StoreError as error:
        print(error)
    stored.append(journal.next(noise("last")))
    try:
        await store.append(stored[-1:], durable=True)
        raise SystemExit("there was room again")
    except StoreError:
        pass
    if how == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    else:
        os.unlink(os.path.join(os.path.dirname(path), "ballast"))
    stored.append(journal.next(noise("after")))
    await store.append(stored[-1:], durable=True)
    assert await store.load("ses_1") == stored, "something is missing"
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


def run_child(command: list[str], repository: Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=100, cwd=repository,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_when_writing_fails_nothing_is_lost_and_it_goes_on_by_itself(
    tmp_path: Path, repository: Path
) -> None:
    script = [sys.executable, "-c", FULL_DISK, str(tmp_path / "store.db"), "limit"]
    assert "the disk reports an error" in run_child(script, repository)


@pytest.fixture
def can_mount() -> None:
    probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        works = subprocess.run(probe, capture_output=True, timeout=10).returncode == 0
    except OSError:
        works = False
    if not works:
        pytest.skip("this machine lets nobody mount a small file system of their own")


@pytest.mark.usefixtures("can_mount")
def test_a_full_disk_is_named_and_everything_is_stored_when_there_is_room_again(
    tmp_path: Path, repository: Path
) -> None:
    inside = (
        f'mount -t tmpfs -o size=1200k tmpfs "{tmp_path}" && '
        f'head -c 200000 /dev/zero > "{tmp_path}/ballast" && '
        f'exec "{sys.executable}" -c "$SCRIPT" "{tmp_path}/store.db" mount'
    )
    script = ["env", f"SCRIPT={FULL_DISK}", "unshare", "-rm", "sh", "-c", inside]
    said = run_child(script, repository)
    assert "the disk is full" in said
    assert "Free some space" in said


READ_ONLY_DISK = """
import asyncio, sys
from agent_ls.domain.errors import StoreError
from agent_ls.store.sql_store import open_store

async def main(path):
    try:
        await open_store(path).ready()
    except StoreError as error:
        print(error)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.usefixtures("can_mount")
def test_a_read_only_disk_is_named(tmp_path: Path, repository: Path) -> None:
    inside = (
        f'mount -t tmpfs -o ro tmpfs "{tmp_path}" && '
        f'exec "{sys.executable}" -c "$SCRIPT" "{tmp_path}/new/store.db"'
    )
    script = ["env", f"SCRIPT={READ_ONLY_DISK}", "unshare", "-rm", "sh", "-c", inside]
    assert "Read-only file system" in run_child(script, repository)


async def test_a_wrong_password_is_told_without_being_shown(postgres: Postgres) -> None:
    url = postgres.url("postgres", password="hunter2-wrong")
    await check(url, "refused the login", "Check user and password")
    store = open_store(url)
    with pytest.raises(StoreError) as failed:
        await store.ready()
    assert "hunter2" not in str(failed.value)
    assert "hunter2" not in repr(store.location)
    await store.close()


async def test_a_missing_database_is_told(postgres: Postgres) -> None:
    await check(postgres.url("nowhere"), "does not exist", "createdb")


async def test_a_server_that_does_not_run_is_told(postgres: Postgres) -> None:
    url = postgres.url("postgres").replace(str(postgres.port), "1")
    await check(url, "cannot be reached", "127.0.0.1:1")


async def test_a_read_only_server_is_told(postgres: Postgres) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.run("postgres", f"ALTER DATABASE {name} SET default_transaction_read_only TO on")
    await check(url, "read-only", "primary")


async def test_a_connection_that_broke_is_made_again(postgres: Postgres) -> None:
    url = postgres.new_database()
    store = open_store(url)
    events = Journal().all(created(), noise(), noise())
    await store.append(events[:1], durable=True)
    postgres.run(
        "postgres",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{url.rpartition('/')[2]}'",
    )
    await store.append(events[1:], durable=True)
    assert await store.load("ses_1") == events
    await store.close()


class Wire:
    """The way to a server: it can be cut, so that nothing connects, and frozen, so that bytes
    are taken and nothing comes back.
    """

    def __init__(self, url: str) -> None:
        self._server = sa.make_url(url)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.lost = b""
        """The connections are cut instead of giving the answer with these bytes."""
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def open(self) -> str:
        """Let connections through; return the URL by this way."""
        self._listener = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        self.port = self._listener.sockets[0].getsockname()[1]
        return self._server.set(port=self.port).render_as_string(hide_password=False)

    async def cut(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def freeze(self) -> None:
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    async def close(self) -> None:
        await self.cut()
        self.thaw()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._server.port is not None
        theirs, out = await asyncio.open_connection("127.0.0.1", self._server.port)
        self._writers |= {writer, out}
        for one, other in ((reader, out), (theirs, writer)):
            task = asyncio.ensure_future(self._pump(one, other))
            self._tasks.add(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self._flows.wait()
                if self.lost and self.lost in data:
                    self.lost = b""
                    for one in self._writers:
                        one.transport.abort()
                    return
                writer.write(data)
                await writer.drain()
            writer.close()


@pytest.fixture
async def wire(postgres: Postgres) -> AsyncGenerator[Wire]:
    way = Wire(postgres.new_database())
    yield way
    await way.close()


async def test_a_server_that_is_away_for_a_moment_is_waited_for(wire: Wire) -> None:
    store = open_store(await wire.open())
    events = Journal().all(created(), noise("a"), noise("b"))
    await store.append(events[:1], durable=True)
    await wire.cut()
    waiting = asyncio.ensure_future(store.append(events[1:], durable=True))
    done, _ = await asyncio.wait([waiting], timeout=1.0)
    assert not done
    await wire.open()
    await waiting
    assert await store.load("ses_1") == events
    await store.close()


async def test_a_server_that_stays_away_is_told_and_its_events_are_stored_later(
    wire: Wire,
) -> None:
    store = open_store(await wire.open())
    events = Journal().all(created(), noise("a"), noise("b"))
    await store.append(events[:1], durable=True)
    await wire.cut()
    async with asyncio.timeout(5):
        with pytest.raises(StoreError, match=r"cannot be reached.*Check that it runs"):
            await store.append(events[1:2], durable=True)
    await wire.open()
    await store.append(events[2:], durable=True)
    assert await store.load("ses_1") == events
    await store.close()


@pytest.mark.parametrize("answer", [b"INSERT 0 ", b"COMMIT\0"])
async def test_an_append_whose_answer_got_lost_is_stored_once(wire: Wire, answer: bytes) -> None:
    store = open_store(await wire.open())
    events = Journal().all(*TURN)
    await store.append(events[:1], durable=True)
    wire.lost = answer
    await store.append(events[1:], durable=True)
    assert not wire.lost
    assert await store.load("ses_1") == events
    ((summary,), _) = await store.sessions(), await store.close()
    assert (summary.turns, summary.cost_usd) == (1, 0.75)


# The driver leaves a socket that it could not greet the server by to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("is_connected", [True, False])
async def test_a_frozen_server_is_told_within_five_seconds(
    wire: Wire, *, is_connected: bool
) -> None:
    store = open_store(await wire.open())
    events = Journal().all(created(), noise("a"), noise("b"))
    if is_connected:
        await store.append(events[:1], durable=True)
    wire.freeze()
    first = asyncio.ensure_future(store.append(events[:2], durable=True))
    await asyncio.wait([first], timeout=1.0)
    later = asyncio.ensure_future(store.sessions())
    async with asyncio.timeout(5):
        for waiting in (first, later):
            with pytest.raises(StoreError, match="was reached but does not answer"):
                await waiting
    wire.thaw()
    await store.append(events[2:], durable=True)
    assert await store.load("ses_1") == events
    await store.close()


async def test_tls_is_asked_for_as_libpq_spells_it(postgres: Postgres) -> None:
    url = postgres.new_database()
    for mode in ("disable", "prefer", "allow"):
        store = open_store(f"{url}?sslmode={mode}")
        await store.ready()
        await store.close()
    for mode in ("require", "verify-full"):
        await check(f"{url}?sslmode={mode}", "cannot be reached.*SSL")
    await check(f"{url}?sslmode=maybe", "sslmode=maybe", "verify-full")


def test_the_ways_to_name_a_server_come_to_the_same() -> None:
    for place in ("postgres://me@there/x", "postgresql://me@there/x"):
        location = locate(place)
        assert location.url == "postgresql+pg8000://me@there/x"
        assert location.shown == "postgresql://there/x"
    with pytest.raises(StoreError, match=r"by pg8000 and not by psycopg.*postgresql://"):
        locate("postgresql+psycopg://me@there/x")


async def test_a_folder_of_sockets_may_stand_for_the_host(postgres: Postgres) -> None:
    url = sa.make_url(postgres.new_database())
    (folder,) = [Path(part) for part in postgres.process.args if "agent-ls-postgres" in str(part)][
        -1:
    ]
    place = url.set(host=None, port=None, query={"host": str(folder)})
    shown = place.render_as_string(hide_password=False).replace("@/", f"@:{postgres.port}/")
    store = open_store(shown)
    await store.append(Journal().all(created()), durable=True)
    assert [row.session_id for row in await store.sessions()] == ["ses_1"]
    await store.close()


@pytest.mark.parametrize(
    ("error", "words", "is_shared"),
    [
        (sqlite3.OperationalError("odd"), "SQLite says: odd", False),
        (
            Exception({"C": "22P02", "M": "bad input"}),
            r"PostgreSQL says: bad input \(22P02\)",
            False,
        ),
        (Exception({"C": "57P01", "M": "bye"}), "shutting down", True),
    ],
)
def test_what_other_drivers_say_is_worded_too(
    error: Exception, words: str, is_shared: bool
) -> None:
    wrapped = sa.exc.DBAPIError("SELECT secret", {}, error)
    fault = faults.explain(wrapped, locate("/x/store.db"))
    assert re.search(words, str(fault.error))
    assert "secret" not in str(fault.error)
    assert fault.is_shared is is_shared


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("no", name="pg8000"), r"'pg8000' is missing.*install 'pg8000>="),
        (ValueError("what?"), "ValueError: what?"),
        (OSError(30, "Read-only file system"), "Read-only file system"),
        (OSError("odd"), "odd"),
    ],
)
def test_other_trouble_is_worded_too(error: Exception, words: str) -> None:
    fault = faults.explain(error, locate("/x/store.db"))
    assert re.search(words, str(fault.error))


def test_a_server_without_a_user_is_refused_with_how_to_write_it() -> None:
    with pytest.raises(StoreError, match="postgresql://USER@HOST"):
        locate("postgresql://localhost:1/x")
    assert locate("postgresql://localhost/x?user=me").path is None
