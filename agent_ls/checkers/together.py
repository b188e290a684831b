"""Checks that run at once, of which none outlives whoever waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what each returns, in order. Errors: that of the first one that fails.

    Who is cancelled, or meets an error, waits until all of them have come to their end:
    ``asyncio.gather`` goes when the first one does, while the others' programs are still there.
    """
    tasks = [asyncio.create_task(one) for one in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for one in tasks:
            if not one.cancelling():
                # Once more would keep it from waiting for its program's end.
                one.cancel()
        if tasks:
            await asyncio.wait(tasks)
