"""Stops the clock of time limits while the user is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary


@dataclass(slots=True)
class _Stop:
    """Blocks that stop a limit's clock now, and what is left of its time."""

    blocks: int
    left_s: float


_STOPPED: WeakKeyDictionary[asyncio.Timeout, _Stop] = WeakKeyDictionary()


@contextmanager
def paused(*limits: asyncio.Timeout) -> Generator[None]:
    """During the block the limits' time does not pass; one that is over stays over.

    Blocks may overlap: the time goes on when the last of them ends.
    """
    loop = asyncio.get_running_loop()
    stopped: list[asyncio.Timeout] = []
    for limit in limits:
        if (known := _STOPPED.get(limit)) is not None:
            known.blocks += 1
        elif (end_s := limit.when()) is not None:
            _STOPPED[limit] = _Stop(1, end_s - loop.time())
            # Errors: the limit is over, or what it limits has ended.
            with suppress(RuntimeError):
                limit.reschedule(None)
        else:
            continue
        stopped.append(limit)
    try:
        yield
    finally:
        for limit in stopped:
            stop = _STOPPED[limit]
            stop.blocks -= 1
            if not stop.blocks:
                del _STOPPED[limit]
                with suppress(RuntimeError):
                    limit.reschedule(loop.time() + stop.left_s)
