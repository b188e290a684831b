"""Stops the clock of a time limit while the user is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def paused(limit: asyncio.Timeout) -> Generator[None]:
    """During the block the limit's time does not pass; one that is over stays over."""
    loop, end_s = asyncio.get_running_loop(), limit.when()
    if end_s is None:
        yield
        return
    left_s = end_s - loop.time()
    # Errors: the limit is over, or what it limits has ended.
    with suppress(RuntimeError):
        limit.reschedule(None)
    try:
        yield
    finally:
        with suppress(RuntimeError):
            limit.reschedule(loop.time() + left_s)
