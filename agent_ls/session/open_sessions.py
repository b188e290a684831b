"""The sessions open in this process, each with its lease.

Owns when a session is closed: least recently used, broken, or taken by another process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

from agent_ls.domain.errors import StoreError
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.store import Store
from agent_ls.session.held_leases import HeldLeases, Lease
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_RENEW_S = 20.0
_KEPT = 8
"""How many sessions stay open; beyond that the least recently used idle ones are closed."""


class OpenSessions:
    """Open sessions by id."""

    def __init__(
        self, store: Store, leases: HeldLeases, clock: Clock, on_taken: Callable[[str], None]
    ) -> None:
        """``on_taken`` is called with the id of a session that another process has continued."""
        self._store, self._leases, self._clock = store, leases, clock
        self.on_taken = on_taken
        self._open: dict[str, Session] = {}
        """Least recently used first."""
        self._lease_of: dict[Session, Lease] = {}
        """Leases of open and closing sessions."""
        self._set_aside: set[str] = set()
        """Ids of sessions closed here that their faces may still show."""
        self._renewing: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        """Tasks that close sessions taken by another process."""

    def __contains__(self, session_id: str) -> bool:
        """Say whether a session is open."""
        return session_id in self._open

    def get(self, session_id: str) -> Session | None:
        """Return a session if it is open."""
        return self._open.get(session_id)

    def is_known(self, session_id: str) -> bool:
        """Say whether a session is open, or was closed for lack of room or another process."""
        return session_id in self._open or session_id in self._set_aside

    async def add(self, session: Session, lease: Lease) -> None:
        """Keep a session open with its lease; may close idle sessions to make room."""
        self._set_aside.discard(session.id)
        self._lease_of[session] = lease
        idle = [one for one in self._open.values() if one.is_cut_off or not one.is_busy]
        self._open[session.id] = session
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_leases())
        for one in idle[: max(0, len(self._open) - _KEPT)]:
            await self.leave(one, "making room")

    async def used(self, session_id: str, *, to_look: bool) -> Session | None:
        """Return an open session; None: load it.

        Unless ``to_look``, a loose lease is made firm first.
        """
        known = self._open.get(session_id)
        if known is None:
            return None
        is_current = to_look or await self._upgrade(known)
        # It may have been closed during the await.
        is_here = self._open.pop(session_id, None) is known
        if is_here and is_current and not known.is_closed:
            self._open[session_id] = known
            return known
        # Its recorder is out of date; the store has the truth.
        self._set_aside.add(session_id)
        await self._given_back(known, "reloading")
        return None

    async def leave(self, session: Session, by: str) -> None:
        """Close one session and release its lease; it can be opened again."""
        self._open.pop(session.id, None)
        self._set_aside.add(session.id)
        await self._given_back(session, by)

    async def drop(self, session_id: str) -> None:
        """Close a session that is about to be deleted, if it is open; it cannot be found again."""
        session = self._open.get(session_id)
        if session is not None:
            await self.leave(session, "deleting")
        self._set_aside.discard(session_id)

    async def claim(self, session: Session) -> None:
        """Make a session's lease firm before a decision.

        Errors: ``StoreError`` when another process has continued it, or it was closed here.
        """
        is_held = self._is_open(session) and await self._upgrade(session)
        await self._refuse_lost(session, is_held=is_held)

    @asynccontextmanager
    async def claimed(self, session: Session) -> AsyncGenerator[None]:
        """Make a session's lease firm for the block; a loose lease is loose again afterwards.

        Errors: as of ``claim``.
        """
        is_held = self._is_open(session)
        if is_held:
            is_unwritten = partial(self._is_unwritten, session)
            async with self._leases.upgraded(self._lease_of[session], is_unwritten) as is_held:
                if is_held and self._is_open(session):
                    yield
                    return
        await self._refuse_lost(session, is_held=is_held)

    @property
    def is_settled(self) -> bool:
        """Say whether closing waits for no decision that is under way."""
        return not self._leaving and all(one.review.is_settled for one in self._open.values())

    async def settled(self) -> None:
        """Wait for the decisions that are under way."""
        for session in list(self._open.values()):
            await session.review.settled()
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def close(self) -> None:
        """Close all sessions and release the leases.

        Errors are logged and do not stop the rest.
        """
        if self._renewing is not None:
            self._renewing.cancel()
        ended = await asyncio.gather(
            *(session.close() for session in self._open.values()),
            *self._leaving,
            return_exceptions=True,
        )
        self._open.clear()
        released = await asyncio.gather(
            *(self._leases.release(lease) for lease in self._leases.held),
            return_exceptions=True,
        )
        for failure in (*ended, *released):
            if isinstance(failure, StoreError):
                _log.warning("a session did not close in order: %s", failure)
            elif isinstance(failure, Exception):
                _log.error("a session did not close in order", exc_info=failure)
        self._lease_of.clear()

    async def _given_back(self, session: Session, by: str) -> None:
        try:
            await session.close(by)
        except StoreError as error:
            _log.warning("session %s did not close in order: %s", session.id, error)
        lease = self._lease_of.pop(session, None)
        try:
            if lease is not None:
                await self._leases.release(lease)
        except StoreError as error:
            _log.warning("could not give the lease on %s back: %s", session.id, error)

    def _is_open(self, session: Session) -> bool:
        """Say whether this very object is open, not one loaded in its place."""
        return self._open.get(session.id) is session

    async def _refuse_lost(self, session: Session, *, is_held: bool) -> None:
        if not self._is_open(session):
            raise StoreError(
                f"session {session.id} was closed here; open it again (agent-ls.session.resume)"
            )
        if not is_held:
            await self._taken(session)
            raise StoreError(
                f"another agent-ls went on with session {session.id}; look at its changes there, "
                "or again here when it is closed"
            )

    async def _upgrade(self, session: Session) -> bool:
        lease = self._lease_of[session]
        return await self._leases.upgrade(lease, partial(self._is_unwritten, session))

    async def _is_unwritten(self, session: Session) -> bool:
        journal = await self._store.load(session.id)
        return not journal or journal[-1].seq <= session.state.seq

    async def _taken(self, session: Session) -> None:
        await self.leave(session, "another agent-ls")
        if session.id not in self._open:
            self.on_taken(session.id)

    async def _renew_leases(self) -> None:
        while True:
            await self._clock.sleep(_RENEW_S)
            for session in list(self._open.values()):
                # It may have been closed or reopened during the awaits.
                if self._is_open(session):
                    await self._renew(session)

    async def _renew(self, session: Session) -> None:
        is_unwritten = partial(self._is_unwritten, session)
        try:
            is_held = await self._leases.renew(self._lease_of[session], is_unwritten)
            if not is_held and self._is_open(session):
                _log.warning("another agent-ls took over session %s", session.id)
                task = asyncio.create_task(self._taken(session))
                self._leaving.add(task)
                task.add_done_callback(self._left)
        except StoreError as error:
            _log.warning("could not renew the lease on %s: %s", session.id, error)
        except Exception as error:
            # Go on: the others' leases expire within a minute.
            _log.error("could not renew the lease on %s", session.id, exc_info=error)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a session that another process took did not close", exc_info=error)
