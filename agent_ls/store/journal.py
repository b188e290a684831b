"""Appends events with their projections, and reads them back.

Guarantees the order of a session's events: numbers without gaps or duplicates.
Every function runs inside the caller's transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import sqlalchemy as sa
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from agent_ls.domain.errors import StoreError
from agent_ls.domain.events import SessionArchived, SessionRenamed, StoredEvent
from agent_ls.store import schema
from agent_ls.store.faults import Damage
from agent_ls.store.projections import Cursor, Projection, Row, Table
from agent_ls.store.upcasts import read_event

_TABLES: dict[Table, tuple[sa.Table, str]] = {
    "sessions": (schema.sessions, "session_id"),
    "executions": (schema.executions, "execution_id"),
    "steps": (schema.steps, "step_id"),
}
_OF_LISTS = (SessionRenamed, SessionArchived)
"""These are no work in a session, so they do not make it newer than others."""
_WHERE_IT_STANDS = (
    sa.select(schema.sessions.c.last_seq, schema.sessions.c.cursor)
    .where(schema.sessions.c.session_id == sa.bindparam("session_id"))
    # Serialises servers that append to one session; SQLite has one writer anyway.
    .with_for_update()
)
_ADD_EVENT = sa.insert(schema.events)
_COLUMNS = tuple(schema.events.c.keys())
_BODIES = (
    sa.select(schema.events.c.seq, schema.events.c.at_ms, schema.events.c.body)
    .where(schema.events.c.session_id == sa.bindparam("session_id"))
    .where(schema.events.c.seq.between(sa.bindparam("first"), sa.bindparam("last")))
)
_JOURNAL = (
    sa.select(schema.events)
    .where(schema.events.c.session_id == sa.bindparam("session_id"))
    .order_by(schema.events.c.seq)
)
_BEGINNING = _JOURNAL.where(schema.events.c.seq <= sa.bindparam("last_seq"))


class JournalConflict(StoreError):
    """The events do not continue what is stored."""


def append(connection: sa.Connection, events: Iterable[StoredEvent]) -> None:
    """Store events in order, with their projections.

    Storing the same event again changes nothing, so an append with an unknown outcome can be
    repeated. Errors: ``JournalConflict`` if events do not continue their session's journal.
    """
    for session_id, group in groupby(events, key=lambda stored: stored.session_id):
        _append_to(connection, session_id, list(group))


def load(
    connection: sa.Connection, session_id: str, *, last_seq: int | None = None
) -> list[StoredEvent]:
    """Return a session's events in order, up to ``last_seq`` if given; empty if unknown.

    Errors: ``Damage`` for the first damaged event; ``StoreError`` for one of a newer agent-ls.
    """
    query = _JOURNAL if last_seq is None else _BEGINNING
    # All at once, and each taken apart at once: asking rows by name costs as much as parsing them.
    rows = connection.execute(query, {"session_id": session_id, "last_seq": last_seq}).all()
    loaded: list[StoredEvent] = []
    for name, seq, at_ms, kind, version, body, checksum in rows:
        try:
            event = read_event(body, kind, version)
            if checksum not in (None, _checksum(name, seq, at_ms, kind, version, body)):
                raise ValueError("its checksum differs")
        except StoreError as error:
            raise StoreError(f"Event {seq} of {session_id} cannot be read: {error}.") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise Damage(f"Event {seq} of {session_id}", str(error)) from error
        loaded.append(StoredEvent(session_id=session_id, seq=seq, at_ms=at_ms, event=event))
    return loaded


def _append_to(connection: sa.Connection, session_id: str, events: list[StoredEvent]) -> None:
    row = connection.execute(_WHERE_IT_STANDS, {"session_id": session_id}).one_or_none()
    last_seq = row.last_seq if row else 0
    known = [stored for stored in events if stored.seq <= last_seq]
    if known:
        _check_same(connection, session_id, known)
    fresh = events[len(known) :]
    if not fresh:
        return
    _check_follows(session_id, last_seq, fresh)
    projection = Projection(Cursor.model_validate_json(row.cursor) if row else Cursor())
    for stored in fresh:
        projection.take(stored)
    last = fresh[-1]
    place = {"last_seq": last.seq, "cursor": _json(projection.cursor)}
    projection.rows["sessions", ""].values.update(place)
    if not all(isinstance(stored.event, _OF_LISTS) for stored in fresh):
        projection.rows["sessions", ""].values["updated_ms"] = last.at_ms
    for (table, name), changed in projection.rows.items():
        _upsert(connection, session_id, table, name, changed)
    try:
        connection.execute(_ADD_EVENT, [_event_row(stored) for stored in fresh])
    except IntegrityError as error:
        raise _conflict(session_id) from error


def _check_follows(session_id: str, last_seq: int, events: list[StoredEvent]) -> None:
    for seq, stored in enumerate(events, start=last_seq + 1):
        if stored.seq != seq:
            raise JournalConflict(
                f"Event {stored.seq} of {session_id} was not stored, because event {seq} is "
                "missing. Reload the session (agent-ls.session.resume) to go on from what is there."
            )


def _check_same(connection: sa.Connection, session_id: str, events: list[StoredEvent]) -> None:
    rows = connection.execute(
        _BODIES, {"session_id": session_id, "first": events[0].seq, "last": events[-1].seq}
    )
    stored_before = {row.seq: (row.at_ms, row.body) for row in rows}
    for stored in events:
        if stored_before.get(stored.seq) != (stored.at_ms, _json(stored.event)):
            raise _conflict(session_id)


def _conflict(session_id: str) -> JournalConflict:
    return JournalConflict(
        f"Session {session_id} was continued by another agent-ls. "
        "Reload it (agent-ls.session.resume) to go on from what is stored."
    )


_UPSERTS: dict[tuple[str, Table, tuple[str, ...], tuple[str, ...]], sa.Executable] = {}
"""Statements by dialect, table, columns set and columns added to. Cached, because building a
statement costs more than running it."""


def _upsert(connection: sa.Connection, session_id: str, table: Table, name: str, row: Row) -> None:
    shape = (connection.dialect.name, table, tuple(sorted(row.values)), tuple(sorted(row.added)))
    statement = _UPSERTS.get(shape)
    if statement is None:
        statement = _UPSERTS[shape] = _build_upsert(*shape)
    _, key = _TABLES[table]
    values = {column: _storable(value) for column, value in row.values.items()}
    parameters = {"session_id": session_id, key: name or session_id, **values, **row.added}
    connection.execute(statement, parameters)


def _build_upsert(
    dialect: str, table: Table, names: Sequence[str], added: Sequence[str]
) -> sa.Executable:
    into, key = _TABLES[table]
    make: Callable[[sa.Table], postgresql.Insert | sqlite.Insert]
    make = postgresql.insert if dialect == "postgresql" else sqlite.insert
    keys = list(dict.fromkeys(["session_id", key]))
    insert = make(into).values({name: sa.bindparam(name) for name in (*keys, *names, *added)})
    changes: Mapping[str, sa.ColumnElement[object]] = {
        **{name: insert.excluded[name] for name in names},
        **{name: into.c[name] + insert.excluded[name] for name in added},
    }
    return insert.on_conflict_do_update(index_elements=keys, set_=changes)


def _event_row(stored: StoredEvent) -> dict[str, object]:
    event, place = stored.event, (stored.session_id, stored.seq, stored.at_ms)
    values = (*place, event.type, event.v, _json(event))
    return dict(zip(_COLUMNS, (*values, _checksum(*values)), strict=True))


def _checksum(name: str, seq: int, at_ms: int, kind: str, version: int, body: str) -> str:
    """Return the SHA-256 over a row of ``events`` in its columns' order, as hexadecimal digits."""
    # Ids and types have no line ends and the body is last, so different rows differ as texts.
    text = f"{name}\n{seq}\n{at_ms}\n{kind}\n{version}\n{body}"
    return hashlib.sha256(text.encode()).hexdigest()


def _json(record: BaseModel) -> str:
    try:
        return record.model_dump_json()
    except PydanticSerializationError:
        # Models and users can write lone surrogates, which no database takes as text.
        return json.dumps(_storable(record.model_dump(mode="json")), ensure_ascii=False)


def _storable(value: Any) -> Any:
    """Replace zero characters and lone surrogates, which text columns reject, in a JSON value."""
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole.replace("\0", "\ufffd")
    if isinstance(value, list | tuple):
        return [_storable(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {_storable(name): _storable(item) for name, item in items}
    return value
