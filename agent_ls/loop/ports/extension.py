"""What the user and trusted folders add to the agent by files."""

from __future__ import annotations

from typing import Protocol

from agent_ls.domain.commands import CommandList


class Commands(Protocol):
    """The custom commands."""

    async def listed(self) -> CommandList:
        """Return the commands as their files are now."""
        ...
