"""Time, as the only way to it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time; the only way to it."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970; for people and ids."""
        ...

    def monotonic_s(self) -> float:
        """Return a clock that never goes back; for durations and limits."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
