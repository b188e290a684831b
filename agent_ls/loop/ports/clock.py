"""Time, behind a port so that tests can fix it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The only source of time."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970, for display and ids."""
        ...

    def monotonic_s(self) -> float:
        """Return a clock that never goes back, in seconds, for durations and limits."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that many seconds."""
