"""Requests run side by side; a change of settings runs alone, when no request runs.

Otherwise a request would find the store closed, or sessions that belong to the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Changeover:
    """Counts the requests that run, and lets a change in when none does."""

    def __init__(self) -> None:
        """Begin with no request."""
        self._door = asyncio.Lock()
        self._count = 0
        self._unused = asyncio.Event()
        self._unused.set()

    @asynccontextmanager
    async def request(self) -> AsyncGenerator[None]:
        """Work with the sessions, once no change is being made."""
        async with self._door:
            self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Count work that a running request leaves behind; ``leave`` ends it."""
        self._count += 1
        self._unused.clear()

    def leave(self) -> None:
        """End what ``enter`` began."""
        self._count -= 1
        if not self._count:
            self._unused.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Work when no request does; one that comes meanwhile waits."""
        while True:
            # Without the door: a request that runs may wait for an answer to a later one.
            await self._unused.wait()
            async with self._door:
                if not self._count:
                    yield
                    return
