"""Runs requests side by side, and a change of settings alone.

A request must not find the store closed, or sessions of the previous settings. No request waits
long for a change: what needs no store runs beside it, and the rest is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from pygls.exceptions import JsonRpcException

from agent_ls.domain.errors import AgentLsError

WAIT_S: Final = 0.8
"""How long a request waits for a change before it is told to come again."""


class ComeAgain(JsonRpcException):
    """A change of settings is under way; the protocol's ``ServerCancelled``."""

    CODE = -32802
    MESSAGE = "agent-ls is reopening its sessions under changed settings. Ask again in a moment."


class SettingsLock:
    """Counts running requests; a change of settings waits until there is none."""

    def __init__(self) -> None:
        self._door = asyncio.Lock()
        self._count = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._is_changing = False
        self._changes = 0

    @asynccontextmanager
    async def request(self) -> AsyncGenerator[None]:
        """Run a client's request; a running change ends first. Errors: ``ComeAgain``."""
        try:
            async with asyncio.timeout(WAIT_S), self._door:
                self.enter()
        except TimeoutError:
            raise ComeAgain from None
        try:
            yield
        finally:
            self.leave()

    @asynccontextmanager
    async def work(self) -> AsyncGenerator[None]:
        """Run background work, for which no client waits; a running change ends first."""
        async with self._door:
            self.enter()
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def beside(self) -> Generator[None]:
        """Run a request that needs no store, also while a change runs.

        Errors: ``ComeAgain`` when it met closed sessions because of a change.
        """
        before = self._changes
        try:
            yield
        except AgentLsError as error:
            if self._is_changing or self._changes != before:
                raise ComeAgain from error
            raise

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
                    self._is_changing = True
                    self._changes += 1
                    try:
                        yield
                    finally:
                        self._is_changing = False
                    return
