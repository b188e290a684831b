"""Sub-agents, and file claims that keep parallel agents apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from agent_ls.domain.agents import AgentKind, ChildResult


class ChildTurns(Protocol):
    """Runs sub-agents, each as a turn in its own session."""

    @property
    def kinds(self) -> Mapping[str, AgentKind]:
        """Return the kinds of sub-agents, by name."""
        ...

    async def run(
        self, call_id: str, kind: str, task: str, show: Callable[[str], None]
    ) -> ChildResult:
        """Run a sub-agent on the task and return its report; ``show`` receives its progress.

        Cancelling ends the sub-agent first.
        Errors: ``ToolError`` for an unknown kind, or when too little budget is left.
        """
        ...


class Claims(Protocol):
    """Which agent works on which file, so that parallel agents do not collide.

    A claim is a lease: it expires when its agent dies or forgets it.
    """

    def claim(self, path: str, owner: str, ttl_s: float) -> str | None:
        """Take or renew a file for ``owner``; return the owner if it is somebody else."""
        ...

    def release(self, owner: str) -> None:
        """Release everything that ``owner`` holds."""
