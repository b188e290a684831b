"""Runs pure work on large texts in a thread, so that the editor need not wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_INLINE_CHARACTERS = 200_000
"""Work on fewer characters takes less time than a thread may have to wait for its turn."""


async def off_loop(characters: int, work: Callable[[], T]) -> T:
    """Return the result of work on texts of so many characters; errors as of ``work``."""
    return work() if characters <= _INLINE_CHARACTERS else await asyncio.to_thread(work)
