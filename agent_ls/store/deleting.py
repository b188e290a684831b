"""Removes a session with everything that only it needs; runs inside the caller's transaction."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from agent_ls.domain.errors import StoreError
from agent_ls.store.queries import lease_owner, now_ms, take_lease
from agent_ls.store.schema import blobs, events, leases, sessions

_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_OPEN = "session {} is open in an agent-ls; close it there, then delete it"
_OWNER = "deleting"
_DELETING_S = 60.0
_ON_THE_WAY_MS = 600_000
"""A text is stored this long before the event that mentions it, at the very most."""


def delete(connection: sa.Connection, session_id: str) -> bool:
    """Remove a session and its sub-agents'; see ``Store.delete``."""
    known = connection.scalar(sa.select(sa.literal(1)).where(sessions.c.session_id == session_id))
    doomed = [session_id, *_below(connection, [session_id])]
    _check_free(connection, doomed)
    connection.execute(sa.delete(leases).where(leases.c.session_id.in_(doomed)))
    if known is None:
        return False
    # Their rows in all other tables go with them.
    connection.execute(sa.delete(sessions).where(sessions.c.session_id.in_(doomed)))
    _forget_texts(connection)
    return True


def _check_free(connection: sa.Connection, doomed: Sequence[str]) -> None:
    """Take the lease of sessions that are to be deleted. Errors: ``StoreError``."""
    session_id, *children = doomed
    for one in _above(connection, session_id):
        if lease_owner(connection, one) is not None:
            raise StoreError(_OPEN.format(one))
    for one in doomed:
        # Nobody may open it while it goes; the lease goes with it.
        if not take_lease(connection, one, _OWNER, _DELETING_S):
            raise StoreError(_OPEN.format(one))
    if branch := _branch_with(connection, doomed) if children else None:
        raise StoreError(
            f"session {branch} is a fork that has sub-agents of session {session_id}; delete the "
            "fork first"
        )


def _forget_texts(connection: sa.Connection) -> None:
    """Remove every text that no journal mentions, unless its event may be on its way."""
    needed = _digests(connection)
    now = now_ms(connection)
    is_at_work = connection.scalar(sa.select(sa.literal(1)).where(leases.c.expires_ms > now))
    before_ms = now - _ON_THE_WAY_MS if is_at_work else now + 1
    is_over = blobs.c.stored_ms < before_ms
    for digest in connection.scalars(sa.select(blobs.c.digest).where(is_over)).all():
        if digest not in needed:
            # Asked again with it: it may just have been stored once more.
            connection.execute(sa.delete(blobs).where(blobs.c.digest == digest, is_over))


def _above(connection: sa.Connection, session_id: str) -> Iterator[str]:
    """Yield the session that started this one, and the one that started that."""
    query = sa.select(sessions.c.parent_id)
    parent = connection.scalar(query.where(sessions.c.session_id == session_id))
    while parent:
        yield parent
        parent = connection.scalar(query.where(sessions.c.session_id == parent))


def _below(connection: sa.Connection, parents: Sequence[str]) -> Iterator[str]:
    """Yield the sessions of sub-agents, and of theirs."""
    while parents:
        query = sa.select(sessions.c.session_id).where(sessions.c.parent_id.in_(parents))
        parents = list(connection.scalars(query))
        yield from parents


def _branch_with(connection: sa.Connection, doomed: Sequence[str]) -> str | None:
    """Return a session that stays and whose review needs one of these sub-agents; else None."""
    query = sa.select(events.c.session_id, events.c.body).where(
        events.c.type == "child_started", events.c.session_id.not_in(doomed)
    )
    rows = connection.execute(query)
    return next(
        (row.session_id for row in rows if json.loads(row.body)["child_id"] in doomed), None
    )


def _digests(connection: sa.Connection) -> set[str]:
    """Return every digest that journals mention."""
    found: set[str] = set()
    for body in connection.scalars(sa.select(events.c.body)):
        found.update(_DIGEST.findall(body))
    return found
