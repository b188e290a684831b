"""One configured tool server: its program, and what is known of it."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.domain.sentences import counted
from agent_ls.mcp.configured import ServerPlan
from agent_ls.mcp.definitions import Definition, Listing, PromptDefinition
from agent_ls.mcp.pins import Pin
from agent_ls.safety.programs import child_path
from agent_ls.safety.text import visible_line


@dataclass(slots=True, eq=False)
class Server:
    """One configured server, and what is known of it."""

    plan: ServerPlan
    pin: Pin | None = None
    changed: Listing | None = None
    """Its definitions, when they are not those of the pin."""
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
    def state(self) -> str:
        """Return how it is, for a person."""
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


def program_of(plan: ServerPlan) -> str:
    """Return the path of a server's program; empty if there is none of its name."""
    command = plan.options.command
    if "/" in command:
        return str(Path(plan.folder) / command)
    return shutil.which(command, path=child_path()) or ""


def obstacle(plan: ServerPlan) -> str:
    """Return why a server cannot be started; empty if nothing is known."""
    command = plan.options.command
    if not command or ((program := program_of(plan)) and Path(program).is_file()):
        return ""
    return f"there is no program {visible_line(command)}"
