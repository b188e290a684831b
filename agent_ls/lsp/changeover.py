"""Requests run side by side; a change of settings runs alone, and later requests wait for it.

Otherwise a request would find the store closed, or sessions that belong to the one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

_DOOR_S = 2.0
"""So long later requests wait for those that run already; then the change waits instead."""


class Changeover:
    """Who works with the sessions, and whether they may be exchanged."""

    def __init__(self) -> None:
        """Begin with nobody at work."""
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
        """Begin to work with the sessions, for who is at work with them already."""
        self._count += 1
        self._unused.clear()

    def leave(self) -> None:
        """End what ``enter`` began."""
        self._count -= 1
        if not self._count:
            self._unused.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[bool]:
        """Keep requests waiting; False where some that run already do not end soon."""
        async with self._door:
            try:
                async with asyncio.timeout(_DOOR_S):
                    await self._unused.wait()
            except TimeoutError:
                pass
            yield not self._count

    async def unused(self) -> None:
        """Wait until nobody works with the sessions, for a moment at least."""
        await self._unused.wait()
