"""Commands as processes of their own: how they end, and what others wait for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LIMIT_S = 500.0


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        return json.loads(self.out)


async def ended(process: asyncio.subprocess.Process) -> Done:
    """Wait for a process and return what it printed."""
    async with asyncio.timeout(LIMIT_S):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition that another process brings about."""
    async with asyncio.timeout(LIMIT_S):
        while not holds():  # noqa: ASYNC110 - another process makes it true
            await asyncio.sleep(0.02)
