"""What the server and its children use of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Consumption:
    """What the server and its children use of the machine."""

    memory_bytes: int
    """Resident memory of all together."""
    cpu_s: float
    """Processor time of all together, those that have ended included."""
    descriptors: int
    """Of the process that has most of them open."""
    max_descriptors: int
    """How many one process may open; 0: not known."""


class Meter(Protocol):
    """Says what the server and its children use."""

    async def measure(self) -> Consumption:
        """Return what is in use, at most some seconds old; never raises."""
        ...
