"""The leases of this process: its right to write sessions."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass

import psutil

from agent_ls.domain.errors import SessionHeld
from agent_ls.loop.ports.store import Leases

_LEASE_S = 60.0
_TRIES = 3
_AGAIN_S = 0.2
"""Another process that opens a session only to look at it holds its lease for a moment."""


@dataclass(frozen=True, eq=False, slots=True)
class Lease:
    """One taking of a session; its owner text is unique, also within this process."""

    session_id: str
    owner: str


class HeldLeases:
    """The leases that this process holds.

    Taking a session again replaces its lease: the older one can no longer be renewed.
    """

    def __init__(self, store: Leases, owner: str) -> None:
        """``owner`` is unique among processes: ``host:pid:…``."""
        self._store = store
        self._owner = f"{owner}:"
        self._count = 0
        self._held: dict[str, Lease] = {}
        """By session id, its newest lease that was not released."""
        self._changing = asyncio.Lock()

    @property
    def held(self) -> tuple[Lease, ...]:
        """Return the leases taken and not released, lost ones included."""
        return tuple(self._held.values())

    async def take(self, session_id: str) -> Lease:
        """Take a session's lease. Errors: ``SessionHeld`` when another process holds it."""
        self._count += 1
        lease = Lease(session_id, f"{self._owner}{self._count}")
        for number in range(_TRIES):
            if number:
                await asyncio.sleep(_AGAIN_S)
            holder = await self._store.lease_owner(session_id)
            if holder is not None and self._is_mine_or_dead(holder):
                await self._store.release(session_id, holder)
            if await self._store.lease(session_id, lease.owner, _LEASE_S):
                self._held[session_id] = lease
                return lease
        raise SessionHeld(
            f"another agent-ls writes session {session_id}; close it there, or wait "
            f"{_LEASE_S:.0f} s if it has died"
        )

    async def renew(self, lease: Lease) -> bool:
        """Extend a lease; False when it was taken by another process or released."""
        async with self._changing:
            if self._held.get(lease.session_id) is not lease:
                return False
            return await self._store.lease(lease.session_id, lease.owner, _LEASE_S)

    async def release(self, lease: Lease) -> None:
        """Release a lease; does nothing if the session was taken again or by another process."""
        async with self._changing:
            if self._held.get(lease.session_id) is lease:
                del self._held[lease.session_id]
            await self._store.release(lease.session_id, lease.owner)

    async def is_free(self, session_id: str) -> bool:
        """Say whether no other living process holds a session, as far as is known."""
        holder = await self._store.lease_owner(session_id)
        # A session that is being opened here is held by us already.
        return holder is None or self._is_mine_or_dead(holder)

    def _is_mine_or_dead(self, owner: str) -> bool:
        return owner.startswith(self._owner) or is_dead(owner)


def is_dead(owner: str) -> bool:
    """Say whether the owner's process is known to be gone; never for other hosts."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and not psutil.pid_exists(int(pid))
