"""What the server and its children use is measured, children included."""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

from agent_ls.loop.ports.meter import ResourceUsage
from agent_ls.workspace.meter import ProcessMeter, measured

_HOLDS_FILES = (
    "import os, sys, time\n"
    "held = [os.open(os.devnull, os.O_RDONLY) for _ in range(300)]\n"
    "memory = bytearray(os.urandom(1)) * 50_000_000\n"
    "print('ready', flush=True)\n"
    "sys.stdin.read()\n"
)


@dataclass
class FixedClock:
    """A clock that a test moves."""

    at_s: float = 0.0

    def now_ms(self) -> int:
        return 0

    def monotonic_s(self) -> float:
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        self.at_s += seconds


async def check(meter: ProcessMeter) -> ResourceUsage:
    """Measure, and hold what every measurement is."""
    used = await meter.measure()
    assert used.memory_bytes >= psutil.Process().memory_info().rss // 2
    assert used.cpu_s > 0
    assert 0 < used.descriptors < used.descriptor_limit
    return used


async def test_children_are_measured_too_and_not_at_every_moment() -> None:
    clock = FixedClock()
    meter = ProcessMeter(clock)
    alone = await check(meter)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLDS_FILES,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        assert await asyncio.wait_for(child.stdout.readline(), 30) == b"ready\n"
        clock.at_s = 4.9
        assert await check(meter) == alone
        clock.at_s = 5.0
        together = await check(meter)
        assert together.descriptors >= 300
        assert together.memory_bytes >= alone.memory_bytes + 40_000_000
    finally:
        child.kill()
        await child.communicate()


async def test_a_child_that_has_ended_leaves_its_time() -> None:
    before = measured().cpu_s
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", burn)
    assert await asyncio.wait_for(child.wait(), 60) == 0
    assert measured().cpu_s >= before + 0.25


async def test_the_fullest_disk_counts(tmp_path: Path) -> None:
    folders = (tmp_path, Path("/"), tmp_path / "absent")
    used = await ProcessMeter(FixedClock(), lambda: folders).measure()
    free = min(shutil.disk_usage(folder).free for folder in folders[:2])
    assert used.free_disk_bytes is not None
    assert abs(used.free_disk_bytes - free) < 2**30
    assert (await ProcessMeter(FixedClock()).measure()).free_disk_bytes is None
