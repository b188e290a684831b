"""The right to write sessions, as this process holds it.

One that is only looked at is held loosely: whoever wants to use it takes it. What both write then
meets in the journal, where the second is told (``JournalHalted``).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil

from agent_ls.domain.errors import SessionHeld
from agent_ls.loop.ports.store import Leases

_LEASE_S = 60.0
_TRIES = 3
_LOOSE = ":looks"
"""How the owner of a lease ends who gives it to whoever asks."""


Unwritten = Callable[[], Awaitable[bool]]
"""Says whether a session has in the store what it has here, and no more."""


@dataclass(eq=False, slots=True)
class Lease:
    """One taking of a session, told from every other one, of this process's too, by its owner."""

    session_id: str
    owner: str

    @property
    def is_loose(self) -> bool:
        """Say whether it goes to whoever wants to use the session."""
        return is_loose_lease(self.owner)


class HeldLeases:
    """What this process may write, and what it only looks at.

    A session that is taken anew belongs to that lease: an older one of it can neither be renewed
    nor given back any more.
    """

    def __init__(self, store: Leases, owner: str) -> None:
        """Take the store and a name that no other process has: ``host:pid:…``."""
        self._store = store
        self._owner = f"{owner}:"
        self._count = 0
        self._held: dict[str, Lease] = {}
        """The newest of each session that was not given back, by its id."""
        self._changing = asyncio.Lock()
        """A lease that is made firm is nobody's for a moment, which must not look like a loss."""

    @property
    def held(self) -> tuple[Lease, ...]:
        """Return those that were taken and not given back, the lost ones among them."""
        return tuple(self._held.values())

    async def take(self, session_id: str, *, is_loose: bool = False) -> Lease:
        """Begin to hold a session. Errors: ``SessionHeld`` when another process does."""
        self._count += 1
        firm = f"{self._owner}{self._count}"
        lease = Lease(session_id, firm + _LOOSE if is_loose else firm)
        for _ in range(_TRIES):
            # Who only looks may come between the look at the lease and the taking.
            holder = await self._store.lease_owner(session_id)
            if holder is not None and (
                self._is_mine(holder)
                or is_dead(holder)
                or (is_loose_lease(holder) and not is_loose)
            ):
                await self._store.release(session_id, holder)
            if await self._store.lease(session_id, lease.owner, _LEASE_S):
                self._held[session_id] = lease
                return lease
        raise SessionHeld(
            f"another agent-ls writes session {session_id}; close it there, or wait "
            f"{_LEASE_S:.0f} s if it has died"
        )

    async def renew(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Hold a session for longer; False when somebody else took it, or it was given back."""
        async with self._changing:
            if not self._is_newest(lease):
                return False
            if lease.is_loose:
                return await self._is_still_held(lease, is_unwritten)
            return await self._store.lease(lease.session_id, lease.owner, _LEASE_S)

    async def tighten(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Hold a session against everybody; False when somebody took it that was held loosely, or
        it was given back.
        """
        async with self._changing:
            return await self._made_firm(lease, is_unwritten)

    @asynccontextmanager
    async def firmly(self, lease: Lease, is_unwritten: Unwritten) -> AsyncGenerator[bool]:
        """Hold a session against everybody meanwhile; False as with ``tighten``.

        Nothing may be done meanwhile that takes, renews or gives back leases.
        """
        async with self._changing:
            was_loose = lease.is_loose
            is_firm = await self._made_firm(lease, is_unwritten)
            try:
                yield is_firm
            finally:
                if is_firm and was_loose:
                    await self._replaced(lease, lease.owner + _LOOSE)

    async def release(self, lease: Lease) -> None:
        """Give a session back; nothing happens where it was taken anew, or is somebody else's."""
        async with self._changing:
            if self._is_newest(lease):
                del self._held[lease.session_id]
            await self._store.release(lease.session_id, lease.owner)

    async def is_free(self, session_id: str, *, to_look: bool = False) -> bool:
        """Say whether no other living process keeps this one from a session, as far as is known.

        To look at one is no reason to take it from another that looks.
        """
        holder = await self._store.lease_owner(session_id)
        # One that is being opened here is held by us, and not open yet.
        if holder is None or self._is_mine(holder) or is_dead(holder):
            return True
        return is_loose_lease(holder) and not to_look

    async def _made_firm(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        if not self._is_newest(lease):
            return False
        if not lease.is_loose:
            return True
        if not await self._is_still_held(lease, is_unwritten):
            return False
        return await self._replaced(lease, lease.owner.removesuffix(_LOOSE))

    async def _replaced(self, lease: Lease, owner: str) -> bool:
        """Hold a session by another name; False when somebody was faster."""
        await self._store.release(lease.session_id, lease.owner)
        is_held = await self._store.lease(lease.session_id, owner, _LEASE_S)
        if is_held or is_loose_lease(owner):
            lease.owner = owner
        return is_held

    async def _is_still_held(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Hold a session loosely for longer, and say whether nobody can have written it since it
        was taken. What is held against everybody tells that in its journal.

        A lease that is over, as on a machine that slept, may have been somebody's meanwhile.
        """
        holder = await self._store.lease_owner(lease.session_id)
        if holder not in (None, lease.owner):
            return False
        is_held = await self._store.lease(lease.session_id, lease.owner, _LEASE_S)
        return is_held and (holder is not None or await is_unwritten())

    def _is_newest(self, lease: Lease) -> bool:
        return self._held.get(lease.session_id) is lease

    def _is_mine(self, owner: str) -> bool:
        return owner.startswith(self._owner)


def is_loose_lease(owner: str) -> bool:
    """Say whether who holds a lease only looks at the session, and gives it to whoever asks."""
    return owner.endswith(_LOOSE)


def is_dead(owner: str) -> bool:
    """Say whether the process behind a lease is known to be gone; elsewhere it never is."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and not psutil.pid_exists(int(pid))
