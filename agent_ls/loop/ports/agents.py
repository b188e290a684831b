"""Sub-agents, and how agents that work side by side keep out of each other's way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from agent_ls.domain.agents import AgentKind, ChildResult


class ChildTurns(Protocol):
    """Sub-agents: turns of their own, in sessions of their own."""

    @property
    def kinds(self) -> Mapping[str, AgentKind]:
        """Return the kinds of sub-agents by name."""
        ...

    async def run(
        self, call_id: str, kind: str, task: str, show: Callable[[str], None]
    ) -> ChildResult:
        """Let one carry out the task and return what it reports; ``show`` gets what it does.

        Cancelling ends it first.
        Errors: ``ToolError`` when there is no such kind, or too little left to spend.
        """
        ...


class Claims(Protocol):
    """Which agent works on which file right now, so that agents side by side do not collide.

    A claim is a lease: an agent that dies, or forgets, holds nobody up for long.
    """

    def claim(self, path: str, owner: str, ttl_s: float) -> str | None:
        """Take or renew a file for ``owner``; return who holds it when that is somebody else."""
        ...

    def release(self, owner: str) -> None:
        """Give back everything that ``owner`` holds."""
        ...
