"""Awaits work that must finish even if its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(work: Coroutine[Any, Any, T]) -> T:
    """Await work to its end; a cancellation is raised only after that."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _end_of(task)
        raise


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Await work to its end and return its result; cancellations of the caller are swallowed.

    Use it for work that already is the response to a cancellation.
    """
    task = asyncio.ensure_future(work)
    await _end_of(task)
    return task.result()


async def _end_of(task: asyncio.Future[Any]) -> None:
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            # Swallowed on purpose: only the task decides when this loop ends.
            continue
