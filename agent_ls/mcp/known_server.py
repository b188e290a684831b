"""What is known of one configured tool server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agent_ls.domain.sentences import counted
from agent_ls.mcp.configured import ServerPlan
from agent_ls.mcp.definitions import Definition, Listing, PromptDefinition
from agent_ls.mcp.pins import Pin


@dataclass(slots=True, eq=False)
class Server:
    """One configured server."""

    plan: ServerPlan
    pin: Pin | None = None
    changed: Listing | None = None
    """Its definitions, when they are not those of the pin."""
    new_instructions: str | None = None
    """Its instructions, when they are not those of the pin, which the model still gets."""
    is_open: bool = False
    failures: int = 0
    """In a row."""
    trouble: str = ""
    """Why it could not be started or did not answer, the last time; empty: it did."""
    problems: tuple[str, ...] = ()
    """Why some of its tools are left out."""
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_approved(self) -> bool:
        """Say whether it may be started as it is configured now."""
        if self.pin is None:
            return not self.plan.place
        return self.pin.launch == self.plan.launch

    @property
    def tools(self) -> tuple[Definition, ...]:
        """Return the approved tools that the settings leave; none unless it may be started."""
        if self.pin is None or not self.is_approved:
            return ()
        return tuple(one for one in self.pin.tools if self.plan.options.tools.take(one.name))

    @property
    def prompts(self) -> tuple[PromptDefinition, ...]:
        """Return the prompts of an approved server."""
        return self.pin.prompts if self.pin is not None and self.is_approved else ()

    @property
    def instructions(self) -> str:
        """Return the approved instructions of a server that may be started; may be empty."""
        return (self.pin.instructions or "") if self.pin is not None and self.is_approved else ""

    @property
    def is_unknown(self) -> bool:
        """Say whether it may be started and never was, so that nobody knows what it offers."""
        return self.is_approved and (self.pin is None or not self.pin.digest)

    @property
    def state(self) -> str:
        """Return how it is, for a user."""
        if self.pin is not None and not self.is_approved:
            return "its start changed since you approved it"
        if not self.is_approved:
            return "not approved"
        if self.changed is not None:
            return "its tools changed since you approved them"
        if self.trouble:
            return self.trouble
        if self.pin is None:
            return "not started yet"
        return f"{counted(len(self.tools), 'tool')}{', running' if self.is_open else ''}"
