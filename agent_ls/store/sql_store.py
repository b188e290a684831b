"""The store's face to the loop: the ``Store`` port over one writer thread.

Owns no SQL and imports none: making a store costs nothing, the first use opens it.
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
else:

    class _Later:
        """A module with SQL, imported by the store's thread when it is first used."""

        def __init__(self, name: str) -> None:
            self._name = f"agent_ls.store.{name}"

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    deleting, journal, queries, searching = map(
        _Later, ("deleting", "journal", "queries", "searching")
    )

T = TypeVar("T")


def open_store(place: str | Path) -> SqlStore:
    """Return the store at an absolute file path or a ``postgresql://`` URL.

    Nothing is opened or imported before the first use; ``SqlStore.ready`` is the way to do it
    early. Errors: ``StoreError`` when ``place`` names nothing a store can be in.
    """
    return SqlStore(locate(place))


class SqlStore:
    """All sessions in one SQLite file or PostgreSQL database.

    Errors: ``StoreError`` from every method. Events of an append that raises because the store is
    out of order are not safe yet, and are stored with the next ones that can be; after any other
    error, a ``JournalHalted``, the session takes no events until it is loaded again.
    """

    def __init__(self, location: Location) -> None:
        """Take the place; see ``open_store``."""
        self.location = location
        self._writer = Writer(location)

    @property
    def shown(self) -> str:
        """Return where it is, for a person; holds no password."""
        return self.location.shown

    async def ready(self) -> None:
        """Open the store now, and bring it to today's schema."""
        await self._do(lambda _connection: None, is_write=False)

    async def append(self, events: Sequence[StoredEvent], *, durable: bool) -> None:
        """Store events in order; with ``durable`` returns after they survive a crash.

        Without it returns at once; that something cannot be stored is told to the next durable
        append. No events and ``durable``: returns when all earlier ones are safe.
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
        """Return a session's events in order, migrated to today's versions; empty if unknown."""
        return await self._do(
            lambda db: journal.load(db, session_id), is_write=False, reloads=session_id
        )

    async def beginning(self, session_id: str) -> StoredEvent | None:
        """Return a session's first event, which says what kind it is; None if unknown."""
        found = await self._do(lambda db: journal.load(db, session_id, last_seq=1), is_write=False)
        return next(iter(found), None)

    async def sessions(
        self, roots: Sequence[str] | None = None, *, parent_id: str | None = ""
    ) -> list[SessionSummary]:
        """Return sessions, newest first; only those of exactly these root URIs when given.

        Those of sub-agents are listed by the session that started them; None: all there are.
        ``status`` is ``new`` before a session's first turn.
        """
        return await self._do(lambda db: queries.sessions(db, roots, parent_id), is_write=False)

    async def search(
        self, words: str, roots: Sequence[str] | None = None, *, limit: int = 50
    ) -> list[SearchHit]:
        """Return prompts and answers that contain every word, in any case, newest first."""
        return await self._do(lambda db: searching.search(db, words, roots, limit), is_write=False)

    async def delete(self, session_id: str) -> bool:
        """Remove a session, its sub-agents' and the texts that only they need; False: unknown.

        Errors: ``StoreError`` when somebody holds its lease.
        """
        return await self._do(lambda db: deleting.delete(db, session_id), reloads=session_id)

    async def put_blob(self, data: bytes) -> str:
        """Store bytes durably and return their digest; storing twice is harmless."""
        return await self._do(lambda db: queries.put_blob(db, data))

    async def get_blob(self, digest: str) -> bytes | None:
        """Return stored bytes, None when there are none.

        Never from memory: another process may have deleted them. Those asked for at once are
        fetched together.
        """
        return await self._do(lambda db: queries.get_blob(db, digest), is_write=False)

    async def lease(self, session_id: str, owner: str, ttl_s: float) -> bool:
        """Take or renew the right to write a session; False when another owner holds it."""
        return await self._do(lambda db: queries.take_lease(db, session_id, owner, ttl_s))

    async def lease_owner(self, session_id: str) -> str | None:
        """Return who may write a session now; None when its lease is free or over."""
        return await self._do(lambda db: queries.lease_owner(db, session_id), is_write=False)

    async def release(self, session_id: str, owner: str) -> None:
        """Give the right back; nothing happens when another owner has it."""
        await self._do(lambda db: queries.drop_lease(db, session_id, owner))

    async def close(self) -> None:
        """Write what is pending and close; closing twice is harmless."""
        await self._writer.close()

    async def _do(
        self,
        run: Callable[[sa.Connection], T],
        *,
        is_write: bool = True,
        reloads: str | None = None,
    ) -> T:
        reply = Reply()
        self._writer.take(Work(run, reply, is_write=is_write, reloads=reloads))
        return await reply.future
