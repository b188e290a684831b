"""Do the server and the programs it started exceed their resource limits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.record import Record
from agent_ls.domain.stops import StopReason
from agent_ls.domain.verdicts import CheckVerdict, CloseOut, Nudge, Proceed
from agent_ls.loop.ports.meter import Meter
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
    warn_at: float = Field(default=0.7, gt=0, le=1)
    """Share of a limit from which it is said once."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Nudges once near a resource limit, and closes the turn at the limit.

    Source: seed 000, resource manager.
    """

    name: ClassVar[str] = "resources"
    meter: Meter
    options: ResourcesOptions = ResourcesOptions()

    async def check(self, view: TurnView) -> CheckVerdict:
        shares = await self._shares()
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

    async def _shares(self) -> list[tuple[float, str]]:
        options = self.options
        if not (options.max_memory_bytes or options.max_cpu_s or options.max_descriptors_share):
            return []
        used = await self.meter.measure()
        descriptors = int(used.max_descriptors * options.max_descriptors_share)
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
