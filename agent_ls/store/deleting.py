"""Removes a session with everything that only it needs; runs inside the caller's transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from agent_ls.domain.errors import StoreError
from agent_ls.store.queries import lease_owner
from agent_ls.store.schema import blobs, events, leases, sessions

_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def delete(connection: sa.Connection, session_id: str) -> bool:
    """Remove a session and its sub-agents'; see ``Store.delete``."""
    if lease_owner(connection, session_id) is not None:
        raise StoreError(
            f"session {session_id} is open in an agent-ls; close it there, then delete it"
        )
    known = connection.scalar(sa.select(sa.literal(1)).where(sessions.c.session_id == session_id))
    if known is None:
        return False
    doomed = [session_id, *_below(connection, [session_id])]
    in_doomed = events.c.session_id.in_(doomed)
    texts = _digests(connection, in_doomed)
    if texts:
        # Equal texts are stored once, and another session may have the same.
        texts -= _digests(connection, ~in_doomed)
    connection.execute(sa.delete(leases).where(leases.c.session_id.in_(doomed)))
    # Their rows in all other tables go with them.
    connection.execute(sa.delete(sessions).where(sessions.c.session_id.in_(doomed)))
    for digest in sorted(texts):
        connection.execute(sa.delete(blobs).where(blobs.c.digest == digest))
    return True


def _below(connection: sa.Connection, parents: Sequence[str]) -> Iterator[str]:
    """Yield the sessions of sub-agents, and of theirs."""
    while parents:
        query = sa.select(sessions.c.session_id).where(sessions.c.parent_id.in_(parents))
        parents = list(connection.scalars(query))
        yield from parents


def _digests(connection: sa.Connection, where: sa.ColumnElement[bool]) -> set[str]:
    """Return every digest that journals mention."""
    found: set[str] = set()
    for body in connection.scalars(sa.select(events.c.body).where(where)):
        found.update(_DIGEST.findall(body))
    return found
