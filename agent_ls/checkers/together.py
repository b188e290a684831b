"""Checks that run at once, of which none outlives whoever waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return what each returns, in order. Errors: that of the first in order that fails.

    Who is cancelled, however often, or meets an error, waits until all of them have come to their
    end: ``asyncio.gather`` goes while the others' programs are still there.
    """
    tasks = [asyncio.create_task(one) for one in works]
    left, stopped = set(tasks), None
    while left:
        try:
            left = (await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION))[1]
        except asyncio.CancelledError as error:
            stopped = error
        for one in left:
            if not one.cancelling():
                # Once more would keep it from waiting for its program's end.
                one.cancel()
    failures = [error for one in tasks if not one.cancelled() and (error := one.exception())]
    if stopped is not None or failures:
        raise stopped or failures[0]
    return [one.result() for one in tasks]
