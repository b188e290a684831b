"""The sessions that are open in this process, each with the right to write it.

Owns when one stops being open: it was used longest ago, it broke, or another process took it.
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
"""So many sessions stay open; of more, those that were used longest ago and do nothing close."""


class OpenSessions:
    """Open sessions by id."""

    def __init__(
        self, store: Store, leases: HeldLeases, clock: Clock, on_taken: Callable[[str], None]
    ) -> None:
        """Take where they are stored; ``on_taken`` hears of sessions that others went on with."""
        self._store, self._leases, self._clock = store, leases, clock
        self.on_taken = on_taken
        self._open: dict[str, Session] = {}
        """The one that was used last comes last."""
        self._lease_of: dict[Session, Lease] = {}
        """Those of the open ones, and of the ones that are just closing."""
        self._set_aside: set[str] = set()
        """Closed here while their faces may still know them."""
        self._renewing: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        """Those that close what another process took, which may take its time."""

    def __contains__(self, session_id: str) -> bool:
        """Say whether a session is open."""
        return session_id in self._open

    def get(self, session_id: str) -> Session | None:
        """Return a session if it is open."""
        return self._open.get(session_id)

    def is_known(self, session_id: str) -> bool:
        """Say whether a session is open, or was until it had to be closed."""
        return session_id in self._open or session_id in self._set_aside

    async def add(self, session: Session, lease: Lease) -> None:
        """Keep a session open from now on, and what it is written by; another may have to go."""
        self._set_aside.discard(session.id)
        self._lease_of[session] = lease
        idle = [one for one in self._open.values() if one.is_cut_off or not one.is_busy]
        self._open[session.id] = session
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_leases())
        for one in idle[: max(0, len(self._open) - _KEPT)]:
            await self.leave(one, "making room")

    async def used(self, session_id: str, *, to_look: bool) -> Session | None:
        """Return a session that is open to be used, or only to be looked at; None: load it.

        One that is only looked at is held for certain from then on where it is to be used.
        """
        known = self._open.get(session_id)
        if known is None:
            return None
        is_current = to_look or await self._tighten(known)
        # It may have been left while that was asked.
        is_here = self._open.pop(session_id, None) is known
        if is_here and is_current and not known.is_closed:
            self._open[session_id] = known
            return known
        # The store takes nothing of it any more; what is stored is the truth.
        await self._given_back(known, "reloading")
        return None

    async def leave(self, session: Session, by: str) -> None:
        """Close one session and give its lease back; whoever looks for it opens it again."""
        self._open.pop(session.id, None)
        self._set_aside.add(session.id)
        await self._given_back(session, by)

    async def claim(self, session: Session) -> None:
        """Hold a session for certain before something is decided in it.

        Errors: ``StoreError`` when another process went on with it while it was looked at, or it
        was closed here.
        """
        is_held = self._is_open(session) and await self._tighten(session)
        await self._refuse_lost(session, is_held=is_held)

    @asynccontextmanager
    async def claimed(self, session: Session) -> AsyncGenerator[None]:
        """Hold a session for certain meanwhile; then it is looked at again, if it was before.

        Errors: as of ``claim``.
        """
        is_held = self._is_open(session)
        if is_held:
            is_unwritten = partial(self._is_unwritten, session)
            async with self._leases.firmly(self._lease_of[session], is_unwritten) as is_held:
                if is_held and self._is_open(session):
                    yield
                    return
        await self._refuse_lost(session, is_held=is_held)

    async def close(self) -> None:
        """End what runs and give the leases back.

        What fails on the way is logged, and keeps nothing of the rest from being done.
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
        """Say whether it is open, and not another that was loaded in its place."""
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

    async def _tighten(self, session: Session) -> bool:
        lease = self._lease_of[session]
        return await self._leases.tighten(lease, partial(self._is_unwritten, session))

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
                # Meanwhile some were left, and may have been opened anew.
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
            # The others' leases would be over within a minute.
            _log.error("could not renew the lease on %s", session.id, exc_info=error)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a session that another process took did not close", exc_info=error)
