"""Runs requests side by side, and a change of settings alone.

A request must not find the store closed, or sessions of the previous settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


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
            # Do not hold the lock here: a running request may wait for an answer in a later one.
            await self._unused.wait()
            async with self._door:
                if not self._count:
                    yield
                    return
