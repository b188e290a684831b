"""The schema that migrations make is the one that the code uses, and old journals load."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from agent_ls.domain import events as ev
from agent_ls.domain.errors import StoreError
from agent_ls.store import migrations, schema, upcasts
from agent_ls.store.database import Database
from agent_ls.store.location import locate
from agent_ls.store.sql_store import open_store
from tests.store.stories import TURN, created, noise, sa_engine


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"type": "spoke", "v": 1, "words": "a"}, "a"),
        ({"type": "prompt_queued", "v": 0, "said": "a"}, "a"),
        ({"type": "prompt_queued", "v": 99}, None),
        ({"type": "sung", "v": 1}, None),
    ],
    ids=["a-type-that-is-gone", "an-older-version", "a-newer-version", "a-newer-type"],
)
def test_an_old_event_takes_every_step_to_todays_shape(
    body: dict[str, Any], text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: dict[tuple[str, int], Callable[[upcasts.Body], upcasts.Body]] = {
        ("spoke", 1): lambda old: {"type": "prompt_queued", "v": 0, "said": old["words"]},
        ("prompt_queued", 0): lambda old: {
            "type": "prompt_queued", "v": 1, "text": old["said"], "kind": "steer"
        },
    }  # fmt: skip
    monkeypatch.setattr(upcasts, "UPCASTS", steps)
    if text is None:
        with pytest.raises(StoreError, match="newer agent-ls"):
            upcasts.read_event(json.dumps(body), body["type"], body["v"])
    else:
        event = upcasts.read_event(json.dumps(body), body["type"], body["v"])
        assert isinstance(event, ev.PromptQueued)
        assert event.text == text


def test_every_event_of_today_has_a_version_that_is_known() -> None:
    known = upcasts.current_versions()
    assert {event.type: event.v for event in (*TURN, noise())}.items() <= known.items()


def test_every_old_version_of_an_event_has_a_step_forward() -> None:
    for kind, version in upcasts.current_versions().items():
        assert {(kind, old) for old in range(1, version)} <= upcasts.UPCASTS.keys()


def test_an_event_of_todays_version_is_read_as_it_is() -> None:
    event = ev.TurnStarted(turn_id="trn_1", prompt="hello")
    assert upcasts.read_event(event.model_dump_json(), event.type, event.v) == event


@pytest.mark.parametrize("is_old", [True, False])
async def test_a_store_has_exactly_the_tables_that_the_code_uses(
    place: str, *, is_old: bool
) -> None:
    if is_old:
        with _engine(place).begin() as connection:
            _make_old(connection, "0001")
    store = open_store(place)
    await store.ready()
    await store.close()
    with _engine(place).connect() as connection:
        context = MigrationContext.configure(connection)
        found = compare_metadata(context, schema.metadata)
        # Tables that nothing writes any more stay, as an older agent-ls may be running.
        left = {one[1].name for one in found if one[0] == "remove_table"}
        assert left == ({"calls", "approvals"} if is_old else set())
        assert all(one[0] in ("remove_table", "remove_index") for one in found)


def test_the_list_of_revisions_is_that_of_the_files() -> None:
    config = Config()
    assert migrations.__file__
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config)
    found = [script.revision for script in scripts.walk_revisions()]
    assert tuple(reversed(found)) == migrations.REVISIONS
    assert scripts.get_current_head() == migrations.HEAD


async def test_servers_that_open_an_empty_store_at_once_all_get_it(place: str) -> None:
    stores = [open_store(place) for _ in range(5)]
    await asyncio.gather(*(store.ready() for store in stores))
    for store in stores:
        assert await store.sessions() == []
        await store.close()


def test_a_commit_reaches_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    database = Database(locate(tmp_path / "store.db"))
    with database.transaction(is_write=False) as connection:
        asked = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        told = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked]
    database.close()
    assert told == ["wal", 2, 1, 10_000]


async def test_older_forks_and_dry_runs_are_known_by_their_first_events(place: str) -> None:
    engine = _engine(place)
    journals = {
        "ses_1": created("ses_1"),
        "ses_2": created("ses_2").model_copy(update={"forked_from": "ses_1", "dry_run": True}),
    }
    with engine.begin() as connection:
        _make_old(connection, "0004")
        for name, event in journals.items():
            connection.execute(sa.text(f"INSERT INTO sessions (session_id) VALUES ('{name}')"))
            connection.execute(
                sa.insert(schema.events).values(
                    session_id=name,
                    seq=1,
                    at_ms=1,
                    type=event.type,
                    v=event.v,
                    body=event.model_dump_json(),
                )
            )
    store = open_store(place)
    found = {one.session_id: (one.forked_from, one.is_dry_run) for one in await store.sessions()}
    await store.close()
    assert found == {"ses_1": ("", False), "ses_2": ("ses_1", True)}


async def test_rows_of_an_older_store_get_what_is_new(place: str) -> None:
    engine = _engine(place)
    with engine.begin() as connection:
        _make_old(connection, "0002")
        for words in (
            "INSERT INTO sessions (session_id, roots, agent) VALUES ('ses_1', '[\"x\"]', 'test')",
            "INSERT INTO executions (session_id, execution_id, input_tokens, output_tokens)"
            " VALUES ('ses_1', 'trn_1', 40, 2)",
        ):
            connection.execute(sa.text(words))
    store = open_store(place)
    assert [one.session_id for one in await store.sessions()] == ["ses_1"]
    await store.load("ses_1")
    later = ev.TurnStarted(turn_id="trn_2", prompt="And now?")
    event = ev.StoredEvent(session_id="ses_1", seq=1, at_ms=9, event=later)
    await store.append([event], durable=True)
    await store.close()
    with engine.connect() as connection:
        found = connection.execute(sa.select(schema.executions)).all()
    assert {(row.execution_id, row.agent, row.project) for row in found} == {
        ("trn_1", "test", '["x"]'),
        ("trn_2", "test", '["x"]'),
    }
    assert {row.total_tokens for row in found} == {42, 0}


def _engine(place: str) -> sa.Engine:
    """Return the way to a database that the store has not seen yet."""
    location = locate(place)
    if location.path is not None:
        location.path.parent.mkdir(parents=True, exist_ok=True)
    return sa_engine(place)


def _make_old(connection: sa.Connection, revision: str) -> None:
    """Make the first schema, and upgrade it to another."""
    words = (Path(__file__).parent / "schema_0001.sql").read_text("utf-8")
    if connection.dialect.name == "postgresql":
        for ours, theirs in (("JSON", "JSONB"), ("BLOB", "BYTEA"), ("DOUBLE", "DOUBLE PRECISION")):
            words = words.replace(f" {ours}", f" {theirs}")
    for statement in words.split(";")[:-1]:
        connection.execute(sa.text(statement))
    config = Config(stdout=io.StringIO())
    assert migrations.__file__
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
