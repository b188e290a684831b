"""Work that must not stop half-way, whoever stops waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(work: Coroutine[Any, Any, T]) -> T:
    """Await work to its end; a cancellation meanwhile is raised after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _end_of(task)
        raise


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Await work to its end and return what it gives, however often the caller is cancelled.

    For work that is itself the answer to a cancellation.
    """
    task = asyncio.ensure_future(work)
    await _end_of(task)
    return task.result()


async def _end_of(task: asyncio.Future[Any]) -> None:
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            # Counted by whoever cancels; the task alone says when this is over.
            continue
