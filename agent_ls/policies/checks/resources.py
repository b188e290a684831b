"""Do the server and the programs it started exceed their resource limits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Nudge, Proceed
from agent_ls.loop.ports.meter import Meter, ResourceUsage
from agent_ls.loop.state.view import TurnView

_MB = 1_000_000


class ResourcesOptions(Record):
    """What the server and the programs it started may use together."""

    max_memory_bytes: int = Field(default=2 * 1024**3, ge=0)
    """Resident memory; 0: no limit."""
    max_cpu_s: float = Field(default=0.0, ge=0)
    """Processor time since the server began; 0: no limit."""
    max_descriptors_share: float = Field(default=0.8, ge=0, le=1)
    """Part of the descriptors that one process may open; 0: no limit."""
    min_free_disk_bytes: int = Field(default=200_000_000, ge=0)
    """Room that stays on the disks of the folders and of the store; 0: no limit."""
    warn_at: float = Field(default=0.7, gt=0, le=1)
    """Share of a limit from which the model is warned, once."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Nudges once near a resource limit, and closes the turn at the limit.

    Source: S0, resource manager.
    """

    name: ClassVar[str] = "resources"
    meter: Meter
    options: ResourcesOptions = ResourcesOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        options = self.options
        limits = (options.max_memory_bytes, options.max_cpu_s, options.max_descriptors_share)
        if not any((*limits, options.min_free_disk_bytes)):
            return Proceed()
        used = await self.meter.measure()
        free_bytes = used.free_disk_bytes
        if free_bytes is not None and free_bytes < options.min_free_disk_bytes:
            return CloseOut(
                StopReason.RESOURCE_LIMIT,
                f"Only {free_bytes / _MB:,.0f} MB are free on a disk that agent-ls writes to. "
                "Make room, or lower policies.resources.min_free_disk_bytes in the settings.",
            )
        shares = self._shares(used)
        if not shares:
            return Proceed()
        share, words = max(shares)
        if share >= 1.0:
            return CloseOut(
                StopReason.RESOURCE_LIMIT,
                f"agent-ls and the programs it started use {words}. Close what is not needed, "
                "or raise policies.resources in the settings.",
            )
        if share >= self.options.warn_at and not view.advised(self.name):
            return Nudge(
                f"This machine is getting tight: {words} are in use. Run fewer and smaller "
                "programs at once.",
                priority=0,
            )
        return Proceed()

    def _shares(self, used: ResourceUsage) -> list[tuple[float, str]]:
        options = self.options
        descriptors = int(used.descriptor_limit * options.max_descriptors_share)
        rows = (
            (used.memory_bytes / _MB, options.max_memory_bytes / _MB, "MB of memory"),
            (used.cpu_s, options.max_cpu_s, "s of processor time"),
            (used.descriptors, descriptors, "open files"),
        )
        return [
            (value / limit, f"{value:,.0f} of {limit:,.{_decimals(limit)}f} {what}")
            for value, limit, what in rows
            if limit
        ]


def _decimals(limit: float) -> int:
    """Return the number of decimals; a limit below 1 needs some, or it would be shown as 0."""
    return 0 if limit >= 1 or not limit else 3
