"""Memory, processor time, descriptors and disk of the server and its children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Consumption:
    """Memory, processor time and file descriptors in use by the server and its children."""

    memory_bytes: int
    """Resident memory of all processes together."""
    cpu_s: float
    """Processor time of all processes together, ended ones included."""
    descriptors: int
    """Open file descriptors of the process that has the most."""
    max_descriptors: int
    """Limit of file descriptors per process; 0: unknown."""
    free_disk_bytes: int | None = None
    """Free room on the fullest disk that is written to; None: unknown."""


class Meter(Protocol):
    """Measures the server and its children."""

    async def measure(self) -> Consumption:
        """Return current consumption, at most a few seconds old; never raises."""
        ...
