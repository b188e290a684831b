"""Locks between processes, on open files and folders; the only module that imports ``fcntl``.

A lock ends with its descriptor, so also with the process. Another system needs its locks only here.
"""

from __future__ import annotations

import fcntl


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
