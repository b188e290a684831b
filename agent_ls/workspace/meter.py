"""What this process and all that it started use of the machine."""

from __future__ import annotations

import asyncio
import sys

import psutil

from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.meter import Consumption

_FRESH_S = 5.0
"""Looking at every process of the machine takes a while."""


class ProcessMeter:
    """The ``Meter`` over the operating system; looks again after some seconds."""

    def __init__(self, clock: Clock) -> None:
        """Take the clock that says how old a measurement is."""
        self._clock = clock
        self._last: Consumption | None = None
        self._at_s = 0.0

    async def measure(self) -> Consumption:
        """Return what is in use now, or was some seconds ago; never raises."""
        now_s = self._clock.monotonic_s()
        if self._last is None or now_s - self._at_s >= _FRESH_S:
            self._last = await asyncio.to_thread(measured)
            self._at_s = now_s
        return self._last


def measured() -> Consumption:
    """Return what is in use: memory and time of all together, descriptors of the one with most."""
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
            # It ended meanwhile, or is somebody else's by now.
            continue
    gone = own.cpu_times()
    cpu += getattr(gone, "children_user", 0.0) + getattr(gone, "children_system", 0.0)
    return Consumption(
        memory_bytes=memory, cpu_s=cpu, descriptors=descriptors, max_descriptors=_limit()
    )


def _descriptors(process: psutil.Process) -> int:
    return 0 if sys.platform == "win32" else process.num_fds()


def _limit() -> int:
    """Return how many descriptors one process may open; 0: not known, or no limit."""
    if sys.platform == "win32":
        return 0
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if soft == resource.RLIM_INFINITY else soft
