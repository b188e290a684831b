"""The ``Store`` port over one writer thread.

Does not import SQLAlchemy: making a store costs nothing, and its first use opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent_ls.store.location import Location, locate
from agent_ls.store.writer import Append, Reply, Work, Writer

if TYPE_CHECKING:
    import sqlalchemy as sa

    from agent_ls.domain.events import StoredEvent
    from agent_ls.loop.ports.store import SearchHit, SessionSummary
    from agent_ls.store import deleting, journal, queries, searching
    from agent_ls.store.searching import Place
else:

    class _Later:
        """A module that needs SQLAlchemy, imported on the store's thread at first use."""

        def __init__(self, name: str) -> None:
            self._name = f"agent_ls.store.{name}"

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    deleting, journal, queries, searching = map(
        _Later, ("deleting", "journal", "queries", "searching")
    )

T = TypeVar("T")

SEARCHED_AT_ONCE = 200
"""Prompts and answers that a search reads before other work has its turn."""


def open_store(place: str | Path) -> SqlStore:
    """Return the store at an absolute file path or a ``postgresql://`` URL.

    The first use opens it; ``SqlStore.ready`` opens it earlier.
    Errors: ``StoreError`` if ``place`` is not a valid location.
    """
    return SqlStore(locate(place))


class SqlStore:
    """All sessions in one SQLite file or PostgreSQL database.

    Errors: ``StoreError`` from every method. If an append fails because the store is unavailable,
    its events are kept and stored once the store works again. After any other failed append
    (``JournalHalted``) the session takes no events until it is loaded again.
    """

    def __init__(self, location: Location) -> None:
        """See ``open_store``."""
        self.location = location
        self._writer = Writer(location)

    @property
    def shown(self) -> str:
        """Return the location for display, without a password."""
        return self.location.shown

    async def ready(self) -> None:
        """Open the store now and migrate it to the current schema."""
        await self.run(lambda _connection: None, is_write=False)

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        """Store events in order; with ``durable``, return once they survive a crash.

        Without it, return at once, unless the queue is full; the next durable append raises the
        error. With ``durable`` and no events, return once all earlier events are safe.
        """
        jobs = groupby(events, key=lambda stored: stored.session_id)
        batches = [(session_id, tuple(group)) for session_id, group in jobs] or [("", ())]
        must_wait = durable or self._writer.is_full
        replies: list[Reply] = []
        for session_id, batch in batches:
            reply = Reply() if must_wait else None
            self._writer.take(Append(session_id, batch, reply))
            replies += [reply] if reply else []
        for reply in replies:
            await reply.future

    async def load(self, session_id: str) -> list[StoredEvent]:
        """Return a session's events in order, in their current versions; empty if unknown."""
        return await self.run(
            lambda db: journal.load(db, session_id), is_write=False, reloads=session_id
        )

    async def beginning(self, session_id: str) -> StoredEvent | None:
        """Return a session's first event, which tells its kind; None if the id is unknown."""
        found = await self.run(lambda db: journal.load(db, session_id, last_seq=1), is_write=False)
        return next(iter(found), None)

    async def sessions(
        self, roots: Sequence[str] | None = None, *, parent_id: str | None = ""
    ) -> list[SessionSummary]:
        """Return sessions, newest first; ``roots`` selects sessions with exactly these URIs.

        ``parent_id`` selects the sub-agent sessions that this session started; empty: sessions
        without a parent; None: all. ``status`` is ``new`` before a session's first turn.
        """
        return await self.run(lambda db: queries.sessions(db, roots, parent_id), is_write=False)

    async def search(
        self, words: str, roots: Sequence[str] | None = None, *, limit: int = 50
    ) -> list[SearchHit]:
        """Return prompts and answers that contain every word, in any case, newest first."""
        wanted = words.casefold().split()
        if not wanted:
            return []
        places = await self.run(lambda db: searching.places(db, roots), is_write=False)
        found: list[SearchHit] = []
        for start in range(0, len(places), SEARCHED_AT_ONCE):
            found += await self._hits(wanted, places[start : start + SEARCHED_AT_ONCE])
            if len(found) >= limit:
                break
        return found[:limit]

    async def _hits(self, words: Sequence[str], places: Sequence[Place]) -> list[SearchHit]:
        return await self.run(lambda db: searching.hits(db, words, places), is_write=False)

    async def delete(self, session_id: str) -> bool:
        """Delete a session, its sub-agents' sessions and the blobs only they need.

        Return False if the session is unknown. Errors: ``StoreError`` if its lease is held.
        """
        return await self.run(lambda db: deleting.delete(db, session_id), reloads=session_id)

    async def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their digest; storing twice is harmless."""
        return await self.run(lambda db: queries.put_blob(db, data))

    async def get_blob(self, digest: str) -> bytes | None:
        """Return stored bytes, or None.

        Not cached, because another process may delete them. Concurrent reads are grouped.
        """
        return await self.run(lambda db: queries.get_blob(db, digest), is_write=False)

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        """Take or renew a session's lease; False while another owner holds it."""
        return await self.run(lambda db: queries.take_lease(db, session_id, owner, ttl_s))

    async def lease_owner(self, session_id: str) -> str | None:
        """Return the owner of a session's lease; None if it is free or expired."""
        return await self.run(lambda db: queries.lease_owner(db, session_id), is_write=False)

    async def release(self, session_id: str, owner: str) -> None:
        """Release a session's lease; does nothing if another owner holds it."""
        await self.run(lambda db: queries.drop_lease(db, session_id, owner))

    async def close(self) -> None:
        """Write pending events and close; closing twice is harmless."""
        await self._writer.close()

    async def run(
        self,
        work: Callable[[sa.Connection], T],
        *,
        is_write: bool = True,
        reloads: str | None = None,
    ) -> T:
        """Run a function in a transaction on the store's thread and return its value."""
        reply = Reply()
        self._writer.take(Work(work, reply, is_write=is_write, reloads=reloads))
        return await reply.future
