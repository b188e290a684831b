"""Session lists, blobs and leases; each function runs inside the caller's transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from agent_ls.domain.errors import BytesDamaged
from agent_ls.loop.ports.store import SessionSummary
from agent_ls.store.faults import Damage
from agent_ls.store.projections import roots_key
from agent_ls.store.schema import blobs, leases
from agent_ls.store.schema import sessions as sessions_table

_NOW_MS = {
    # All processes must agree when a lease ends, so the database's clock decides.
    "sqlite": sa.text("SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"),
    "postgresql": sa.text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
}
_FRESH_MS = 300_000
"""A blob younger than this is not stored again: deleting sessions spares it for at least as long
again (``deleting._ON_THE_WAY_MS``)."""
_INSERT = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def sessions(
    connection: sa.Connection, roots: Sequence[str] | None, parent_id: str | None
) -> list[SessionSummary]:
    """Return sessions, newest first; see ``Store.sessions``."""
    table, children = sessions_table.c, sessions_table.alias()
    sub_agents = (
        sa.select(sa.func.count())
        .where(children.c.parent_id == table.session_id)
        .scalar_subquery()
        .label("sub_agents")
    )
    query = sa.select(
        table.session_id,
        table.title,
        table.roots,
        table.updated_ms,
        table.turns,
        table.status,
        table.cost_usd,
        table.parent_id,
        table.agent,
        table.forked_from,
        table.is_dry_run,
        table.is_archived,
        sub_agents,
    ).order_by(table.updated_ms.desc(), table.session_id.desc())
    if roots is not None:
        query = query.where(table.roots == roots_key(list(roots)))
    if parent_id is not None:
        query = query.where(table.parent_id == parent_id)
    return [_summary(row) for row in connection.execute(query)]


def put_blob(connection: sa.Connection, data: bytes) -> str:
    """Store bytes and return their SHA-256 digest; storing twice is harmless."""
    digest = hashlib.sha256(data).hexdigest()
    now = now_ms(connection)
    known = connection.scalar(sa.select(blobs.c.stored_ms).where(blobs.c.digest == digest))
    if known is not None and now - known < _FRESH_MS:
        return digest
    insert = _INSERT[connection.dialect.name](blobs).values(digest=digest, data=data, stored_ms=now)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["digest"], set_={"stored_ms": insert.excluded.stored_ms}
        )
    )
    return digest


def get_blob(connection: sa.Connection, digest: str) -> bytes | None:
    """Return stored bytes, or None. Errors: ``Damage`` if their checksum differs."""
    data = connection.scalar(sa.select(blobs.c.data).where(blobs.c.digest == digest))
    if data is None:
        return None
    if hashlib.sha256(data).hexdigest() != digest:
        raise Damage(f"The stored text {digest[:12]}…", "its checksum differs", kind=BytesDamaged)
    return bytes(data)


def now_ms(connection: sa.Connection) -> int:
    """Return the time by the database's clock, in milliseconds since 1970."""
    return int(connection.execute(_NOW_MS[connection.dialect.name]).scalar_one())


def take_lease(connection: sa.Connection, session_id: str, owner: str, ttl_s: float) -> bool:
    """Take or renew a session's lease; False while another owner holds it."""
    now = now_ms(connection)
    insert = _INSERT[connection.dialect.name](leases).values(
        session_id=session_id, owner=owner, expires_ms=now + round(ttl_s * 1000)
    )
    free = sa.or_(leases.c.owner == owner, leases.c.expires_ms <= now)
    taken = connection.execute(
        insert.on_conflict_do_update(
            index_elements=["session_id"],
            set_={"owner": insert.excluded.owner, "expires_ms": insert.excluded.expires_ms},
            where=free,
        ).returning(leases.c.owner)
    )
    return taken.one_or_none() is not None


def lease_owner(connection: sa.Connection, session_id: str) -> str | None:
    """Return the owner of a session's lease; None if it is free or expired."""
    held = (leases.c.session_id == session_id, leases.c.expires_ms > now_ms(connection))
    return connection.scalar(sa.select(leases.c.owner).where(*held))


def drop_lease(connection: sa.Connection, session_id: str, owner: str) -> None:
    """Release a session's lease; does nothing if another owner holds it."""
    connection.execute(
        sa.delete(leases).where(leases.c.session_id == session_id, leases.c.owner == owner)
    )


def _summary(row: Any) -> SessionSummary:
    return SessionSummary(
        session_id=row.session_id,
        title=row.title,
        roots=tuple(json.loads(row.roots)),
        updated_ms=row.updated_ms,
        turns=row.turns,
        status=row.status,
        cost_usd=row.cost_usd,
        parent_id=row.parent_id,
        agent=row.agent,
        forked_from=row.forked_from,
        is_dry_run=row.is_dry_run,
        is_archived=row.is_archived,
        sub_agents=row.sub_agents,
    )
