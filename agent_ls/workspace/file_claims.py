"""The board on which the agents of one server write down which file they work on.

Kept in memory: a claim that a dead server held is worth nothing.
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
    """The claims of all agents that share a workspace."""

    def __init__(self, clock: Clock) -> None:
        """Begin with no claim."""
        self._clock = clock
        self._leases: dict[str, _Lease] = {}

    def claim(self, path: str, owner: str, ttl_s: float) -> str | None:
        """Take or renew a file for ``owner``; return who holds it when that is somebody else."""
        now_s = self._clock.monotonic_s()
        held = self._leases.get(path)
        if held is not None and held.owner != owner and held.until_s > now_s:
            return held.owner
        # What is over is thrown away here, so that the board does not grow with the files.
        self._leases = {key: one for key, one in self._leases.items() if one.until_s > now_s}
        self._leases[path] = _Lease(owner, now_s + ttl_s)
        return None

    def release(self, owner: str) -> None:
        """Give back everything that ``owner`` holds."""
        self._leases = {key: one for key, one in self._leases.items() if one.owner != owner}

    def on_event(self, stored: StoredEvent) -> None:
        """Release what a session holds whose turn has ended."""
        if isinstance(stored.event, TurnEnded):
            self.release(stored.session_id)

    def on_ephemeral(self, session_id: str, piece: Ephemeral) -> None:
        """Nothing that streams claims a file."""
