"""The leases of this process: its right to write sessions.

A session opened only to look has a loose lease, which any process that wants to use it may take. If
both then write, the journal stops the second one (``JournalHalted``).
"""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from agent_ls.domain.errors import SessionHeld
from agent_ls.loop.ports.store import Leases

_LEASE_S = 60.0
_TRIES = 3
_PLACE = re.compile(r"-|[0-9a-f]{32}\.\d+")
"""What ``_place`` returns."""
_LOOSE = ":looks"
"""Owner suffix that marks a lease anyone may take."""


Unwritten = Callable[[], Awaitable[bool]]
"""Says whether the store has no events of a session beyond those here."""


@dataclass(eq=False, slots=True)
class Lease:
    """One taking of a session; its owner text is unique, also within this process."""

    session_id: str
    owner: str

    @property
    def is_loose(self) -> bool:
        """Say whether any process that wants to use the session may take the lease."""
        return is_loose_lease(self.owner)


class HeldLeases:
    """The leases that this process holds, firm or loose.

    Taking a session again replaces its lease: the older one can no longer be renewed.
    """

    def __init__(self, store: Leases, owner: str) -> None:
        """``owner`` is unique among processes: as ``own_identity``."""
        self._store = store
        self._owner = f"{owner}:"
        self._count = 0
        self._held: dict[str, Lease] = {}
        """By session id, its newest lease that was not released."""
        self._changing = asyncio.Lock()
        """Making a lease firm releases it for a moment; without the lock that looks like a loss."""

    @property
    def held(self) -> tuple[Lease, ...]:
        """Return the leases taken and not released, lost ones included."""
        return tuple(self._held.values())

    async def take(self, session_id: str, *, is_loose: bool = False) -> Lease:
        """Take a session's lease. Errors: ``SessionHeld`` when another process holds it."""
        self._count += 1
        firm = f"{self._owner}{self._count}"
        lease = Lease(session_id, firm + _LOOSE if is_loose else firm)
        for _ in range(_TRIES):
            # Try again: a process that only looks may take the lease in between.
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
            f"{_LEASE_S:.0f} s if that process has crashed"
        )

    async def renew(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Extend a lease; False when it was taken by another process or released."""
        async with self._changing:
            if not self._is_newest(lease):
                return False
            if lease.is_loose:
                return await self._is_still_held(lease, is_unwritten)
            return await self._store.lease(lease.session_id, lease.owner, _LEASE_S)

    async def upgrade(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Make a lease firm; False when another process took it while loose, or it was released."""
        async with self._changing:
            return await self._made_firm(lease, is_unwritten)

    @asynccontextmanager
    async def upgraded(self, lease: Lease, is_unwritten: Unwritten) -> AsyncGenerator[bool]:
        """Hold a firm lease during the block; yields False as ``upgrade`` returns it.

        Inside the block, leases must not be taken, renewed or released.
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
        """Release a lease; does nothing if the session was taken again or by another process."""
        async with self._changing:
            if self._is_newest(lease):
                del self._held[lease.session_id]
            await self._store.release(lease.session_id, lease.owner)

    async def is_free(self, session_id: str, *, to_look: bool = False) -> bool:
        """Say whether no other living process holds a session, as far as is known.

        A loose lease of another process blocks only ``to_look``.
        """
        holder = await self._store.lease_owner(session_id)
        # A session that is being opened here is held by us already.
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
        """Change the lease's owner text; False when another process took it in between."""
        await self._store.release(lease.session_id, lease.owner)
        is_held = await self._store.lease(lease.session_id, owner, _LEASE_S)
        if is_held or is_loose_lease(owner):
            lease.owner = owner
        return is_held

    async def _is_still_held(self, lease: Lease, is_unwritten: Unwritten) -> bool:
        """Extend a loose lease; False when another process may have written since it was taken.

        An expired lease, as after the machine slept, may have been another's meanwhile; then the
        journal is checked.
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
    """Say whether a lease's owner only looks, and gives the session to any process."""
    return owner.endswith(_LOOSE)


def own_identity() -> str:
    """Return ``host:pid:place`` of this process; the place says where its pid counts."""
    return f"{socket.gethostname()}:{os.getpid()}:{_place()}"


def account_name() -> str:
    """Return the name of the user's account; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # In a container the user's number may have no name.
        return ""


def is_dead(owner: str) -> bool:
    """Say whether the owner's process is known to be gone.

    Never for other hosts or namespaces of processes, where the pid means another process: there a
    lease only expires. Owners of older versions name no place and count as of here.
    """
    host, pid, place = (*owner.split(":", 3), "", "")[:3]
    is_elsewhere = bool(_PLACE.fullmatch(place)) and place != _place()
    if host != socket.gethostname() or is_elsewhere or not pid.isdigit():
        return False
    return not _is_running(int(pid))


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return psutil.pid_exists(pid)
    try:
        # Not by /proc: where it is that of another namespace, it shows other processes.
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _place() -> str:
    """Return the start of this system and the namespace of its pids; "-" where there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return "-"
    return f"{boot.replace('-', '')}.{namespace.removeprefix('pid:[').removesuffix(']')}"
