"""Deletes a session and all data only it needs; runs inside the caller's transaction."""

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
"""Longest time from storing a blob to storing the event that mentions it."""


def delete(connection: sa.Connection, session_id: str) -> bool:
    """Delete a session and its sub-agents' sessions; see ``Store.delete``."""
    known = connection.scalar(sa.select(sa.literal(1)).where(sessions.c.session_id == session_id))
    doomed = [session_id, *_below(connection, [session_id])]
    _check_free(connection, doomed)
    connection.execute(sa.delete(leases).where(leases.c.session_id.in_(doomed)))
    if known is None:
        return False
    had_texts = bool(_digests(connection, doomed))
    # This also deletes their rows in the tables that refer to sessions.
    connection.execute(sa.delete(sessions).where(sessions.c.session_id.in_(doomed)))
    if had_texts:
        # It reads all journals.
        _forget_texts(connection)
    return True


def _check_free(connection: sa.Connection, doomed: Sequence[str]) -> None:
    """Take the leases of the sessions to delete.

    Errors: ``StoreError`` if one or a parent is in use, or a fork needs a sub-agent's session.
    """
    session_id, *children = doomed
    for one in _above(connection, session_id):
        if lease_owner(connection, one) is not None:
            raise StoreError(_OPEN.format(one))
    for one in doomed:
        # The lease keeps others from opening the session, and is deleted with it.
        if not take_lease(connection, one, _OWNER, _DELETING_S):
            raise StoreError(_OPEN.format(one))
    if branch := _branch_with(connection, doomed) if children else None:
        raise StoreError(
            f"session {branch} is a fork that has sub-agents of session {session_id}; delete the "
            "fork first"
        )


def _forget_texts(connection: sa.Connection) -> None:
    """Delete blobs that no journal mentions, unless their event may still come."""
    needed = _digests(connection)
    now = now_ms(connection)
    is_at_work = connection.scalar(sa.select(sa.literal(1)).where(leases.c.expires_ms > now))
    before_ms = now - _ON_THE_WAY_MS if is_at_work else now + 1
    is_over = blobs.c.stored_ms < before_ms
    for digest in connection.scalars(sa.select(blobs.c.digest).where(is_over)).all():
        if digest not in needed:
            # Check the time again: the blob may have been stored once more meanwhile.
            connection.execute(sa.delete(blobs).where(blobs.c.digest == digest, is_over))


def _above(connection: sa.Connection, session_id: str) -> Iterator[str]:
    query = sa.select(sessions.c.parent_id)
    parent = connection.scalar(query.where(sessions.c.session_id == session_id))
    while parent:
        yield parent
        parent = connection.scalar(query.where(sessions.c.session_id == parent))


def _below(connection: sa.Connection, parents: Sequence[str]) -> Iterator[str]:
    """Yield all descendants of these sessions, level by level."""
    while parents:
        query = sa.select(sessions.c.session_id).where(sessions.c.parent_id.in_(parents))
        parents = list(connection.scalars(query))
        yield from parents


def _branch_with(connection: sa.Connection, doomed: Sequence[str]) -> str | None:
    """Return a session that stays but whose review needs one of these sub-agents, or None."""
    query = sa.select(events.c.session_id, events.c.body).where(
        events.c.type == "child_started", events.c.session_id.not_in(doomed)
    )
    rows = connection.execute(query)
    return next(
        (row.session_id for row in rows if json.loads(row.body)["child_id"] in doomed), None
    )


def _digests(connection: sa.Connection, session_ids: Sequence[str] | None = None) -> set[str]:
    """Return the digests that these journals mention; None: all journals."""
    query = sa.select(events.c.body)
    if session_ids is not None:
        query = query.where(events.c.session_id.in_(session_ids))
    found: set[str] = set()
    for body in connection.scalars(query):
        found.update(_DIGEST.findall(body))
    return found
