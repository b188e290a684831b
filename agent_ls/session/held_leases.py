"""The right to write sessions, as this process holds it.

One that is only looked at is held loosely: whoever wants to use it takes it. What both write then
meets in the journal, where the second is told (``JournalHalted``).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import psutil

from agent_ls.domain.errors import SessionHeld
from agent_ls.loop.ports.store import Leases

_LEASE_S = 60.0
_TRIES = 3
_LOOSE = ":looks"
"""How the owner of a lease ends who gives it to whoever asks."""


Unwritten = Callable[[], Awaitable[bool]]
"""Says whether a session has in the store what it has here, and no more."""


class HeldLeases:
    """What this process may write, and what it only looks at."""

    def __init__(self, store: Leases, owner: str) -> None:
        """Take the store and a name that no other process has: ``host:pid:…``."""
        self._store = store
        self._owner, self._looker = owner, owner + _LOOSE
        self._loose: set[str] = set()
        self._changing = asyncio.Lock()
        """A lease that is made firm is nobody's for a moment, which must not look like a loss."""

    async def take(self, session_id: str, *, is_loose: bool = False) -> None:
        """Begin to hold a session. Errors: ``SessionHeld`` when another process does."""
        self._loose.discard(session_id)
        if is_loose:
            self._loose.add(session_id)
        for _ in range(_TRIES):
            # Who only looks may come between the look at the lease and the taking.
            holder = await self._store.lease_owner(session_id)
            if holder is not None and (
                is_dead(holder) or (is_loose_lease(holder) and not is_loose)
            ):
                await self._store.release(session_id, holder)
            if await self._store.lease(session_id, self._name(session_id), _LEASE_S):
                return
        raise SessionHeld(
            f"another agent-ls writes session {session_id}; close it there, or wait "
            f"{_LEASE_S:.0f} s if it has died"
        )

    async def renew(self, session_id: str, is_unwritten: Unwritten) -> bool:
        """Hold a session for longer; False when somebody else took it."""
        async with self._changing:
            if session_id in self._loose:
                return await self._is_still_held(session_id, is_unwritten)
            return await self._store.lease(session_id, self._owner, _LEASE_S)

    async def tighten(self, session_id: str, is_unwritten: Unwritten) -> bool:
        """Hold a session against everybody; False when somebody took it that was held loosely."""
        async with self._changing:
            if session_id not in self._loose:
                return True
            if not await self._is_still_held(session_id, is_unwritten):
                return False
            await self._store.release(session_id, self._looker)
            is_firm = await self._store.lease(session_id, self._owner, _LEASE_S)
            if is_firm:
                self._loose.discard(session_id)
            return is_firm

    async def release(self, session_id: str) -> None:
        """Give a session back."""
        await self._store.release(session_id, self._name(session_id))
        self._loose.discard(session_id)

    async def is_free(self, session_id: str, *, to_look: bool = False) -> bool:
        """Say whether no other living process keeps this one from a session, as far as is known.

        To look at one is no reason to take it from another that looks.
        """
        holder = await self._store.lease_owner(session_id)
        # One that is being opened here is held by us, and not open yet.
        if holder is None or holder in (self._owner, self._looker) or is_dead(holder):
            return True
        return is_loose_lease(holder) and not to_look

    async def _is_still_held(self, session_id: str, is_unwritten: Unwritten) -> bool:
        """Hold a session loosely for longer, and say whether nobody can have written it since it
        was taken. What is held against everybody tells that in its journal.

        A lease that is over, as on a machine that slept, may have been somebody's meanwhile.
        """
        holder = await self._store.lease_owner(session_id)
        if holder not in (None, self._looker):
            return False
        is_held = await self._store.lease(session_id, self._looker, _LEASE_S)
        return is_held and (holder is not None or await is_unwritten())

    def _name(self, session_id: str) -> str:
        return self._looker if session_id in self._loose else self._owner


def is_loose_lease(owner: str) -> bool:
    """Say whether who holds a lease only looks at the session, and gives it to whoever asks."""
    return owner.endswith(_LOOSE)


def is_dead(owner: str) -> bool:
    """Say whether the process behind a lease is known to be gone; elsewhere it never is."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    return host == socket.gethostname() and pid.isdigit() and not psutil.pid_exists(int(pid))
