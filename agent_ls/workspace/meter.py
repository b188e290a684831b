"""Measure memory, CPU time and descriptors of this process and its children, and free disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.meter import ResourceUsage

_FRESH_S = 5.0
"""Cache time, because looking at all processes is slow."""


class ProcessMeter:
    """The ``Meter`` port over the operating system, cached for some seconds."""

    def __init__(self, clock: Clock, folders: Callable[[], Iterable[Path]] = tuple) -> None:
        self._clock = clock
        self._folders = folders
        self._last: ResourceUsage | None = None
        self._at_s = 0.0

    async def measure(self) -> ResourceUsage:
        """Return the consumption, at most some seconds old; never raises."""
        now_s = self._clock.monotonic_s()
        if self._last is None or now_s - self._at_s >= _FRESH_S:
            self._last = await asyncio.to_thread(measured, tuple(self._folders()))
            self._at_s = now_s
        return self._last


def measured(folders: Iterable[Path] = ()) -> ResourceUsage:
    """Return the total memory and CPU time, and the most descriptors of a single process.

    ``folders`` are places on the disks that are written to.
    """
    own = psutil.Process()
    memory, cpu, descriptors = 0, 0.0, 0
    for one in (own, *own.children(recursive=True)):
        try:
            with one.oneshot():
                times = one.cpu_times()
                memory += one.memory_info().rss
                cpu += times.user + times.system
                descriptors = max(descriptors, _descriptors(one))
        except psutil.Error:
            # The process ended meanwhile, or its id was reused.
            continue
    gone = own.cpu_times()
    cpu += getattr(gone, "children_user", 0.0) + getattr(gone, "children_system", 0.0)
    return ResourceUsage(
        memory_bytes=memory,
        cpu_s=cpu,
        descriptors=descriptors,
        descriptor_limit=_limit(),
        free_disk_bytes=min(_free(folders), default=None),
    )


def _free(folders: Iterable[Path]) -> Iterator[int]:
    for folder in folders:
        with suppress(OSError):
            yield shutil.disk_usage(folder).free


def _descriptors(process: psutil.Process) -> int:
    return 0 if sys.platform == "win32" else process.num_fds()


def _limit() -> int:
    """Return the limit of descriptors per process; 0 if unknown or unlimited."""
    if sys.platform == "win32":
        return 0
    # -1 where it is unlimited.
    return max(0, os.sysconf("SC_OPEN_MAX"))
