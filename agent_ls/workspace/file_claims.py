"""Leases on files, by which the agents of one server avoid editing the same file.

In memory only, since leases of a dead server are void.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_ls.domain.events import Ephemeral, StoredEvent, TurnEnded
from agent_ls.loop.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class _Lease:
    owner: str
    until_s: float


class FileClaims:
    """The leases of all agents that share a workspace."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._leases: dict[str, _Lease] = {}

    def claim(self, path: str, owner: str, ttl_s: float) -> str | None:
        """Take or renew the lease of a file; return its owner if another agent holds it."""
        now_s = self._clock.monotonic_s()
        held = self._leases.get(path)
        if held is not None and held.owner != owner and held.until_s > now_s:
            return held.owner
        # Drop expired leases, so that the table does not grow for ever.
        self._leases = {key: one for key, one in self._leases.items() if one.until_s > now_s}
        self._leases[path] = _Lease(owner, now_s + ttl_s)
        return None

    def release(self, owner: str) -> None:
        """Release all leases of ``owner``."""
        self._leases = {key: one for key, one in self._leases.items() if one.owner != owner}

    def on_event(self, stored: StoredEvent) -> None:
        """Release a session's leases when its turn ends."""
        if isinstance(stored.event, TurnEnded):
            self.release(stored.session_id)

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Ignore: streamed events do not affect leases."""
