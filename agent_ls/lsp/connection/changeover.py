"""Runs requests side by side, and a change of settings alone.

A request must not find the store closed, or sessions of the previous settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

_PATIENCE_S = 1.0
"""How long a change waits for a moment without requests before it keeps new ones waiting."""
_HELD_S = 0.5
"""How long it keeps them waiting."""


class Changeover:
    """Counts running requests; a change of settings waits until there is none."""

    def __init__(self) -> None:
        self._door = asyncio.Lock()
        self._count = 0
        self._unused = asyncio.Event()
        self._unused.set()

    @asynccontextmanager
    async def request(self) -> AsyncGenerator[None]:
        """Run a request, after a running change has ended."""
        async with self._door:
            self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Count background work of the current request; end it with ``leave``."""
        self._count += 1
        self._unused.clear()

    def leave(self) -> None:
        """End work counted by ``enter``."""
        self._count -= 1
        if not self._count:
            self._unused.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Run a change while no request runs; new requests wait."""
        while True:
            # Do not hold the lock yet: a running request may wait for an answer in a later one.
            await self._unused_within(_PATIENCE_S)
            async with self._door:
                # New requests wait now, else a change would wait for ever where they overlap.
                await self._unused_within(_HELD_S)
                if not self._count:
                    yield
                    return

    async def _unused_within(self, limit_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._unused.wait()
