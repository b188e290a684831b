"""Memory, processor time, descriptors and disk of the server and its children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Memory, processor time, descriptors and disk in use by the server and its children."""

    memory_bytes: int
    """Resident memory of all processes together."""
    cpu_s: float
    """Processor time of all processes together, ended ones included."""
    descriptors: int
    """Open file descriptors of the one process that has the most."""
    descriptor_limit: int
    """Limit of file descriptors per process; 0: unknown."""
    free_disk_bytes: int | None = None
    """Free space on the fullest disk that is written to; None: unknown."""


class Meter(Protocol):
    """Measures the server and its children."""

    async def measure(self) -> ResourceUsage:
        """Return the current usage, at most a few seconds old; never raises."""
        ...
