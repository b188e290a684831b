"""Locks between processes, on open files and folders; the only module that imports ``fcntl``.

A lock ends with its descriptor, so also with the process. Another system needs its locks only here.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_LOOK_S = 0.05


@asynccontextmanager
async def held_file(path: Path) -> AsyncGenerator[int]:
    """Yield a descriptor of a private file to lock, which is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def locked(descriptor: int) -> None:
    """Wait for the lock; not in threads, of which many waiting ones would leave none."""
    while True:
        with suppress(BlockingIOError):
            lock_now(descriptor)
            return
        await asyncio.sleep(_LOOK_S)


def lock_now(descriptor: int) -> None:
    """Lock an open file or folder for this process alone.

    Errors: ``BlockingIOError`` while another process has it; ``OSError`` where there are no locks.
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(descriptor: int) -> None:
    """Wait for the lock without a limit. Blocking; ``OSError`` where there are no locks."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def lock_shared(descriptor: int) -> None:
    """Wait for a lock that others may share. Blocking; ``OSError`` where there are no locks."""
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def unlock(descriptor: int) -> None:
    """Give the lock back."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
