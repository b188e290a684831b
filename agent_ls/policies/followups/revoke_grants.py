"""Did the call change what commands run? Then what was allowed of them is asked about again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import ToolResult
from agent_ls.loop.ports.people import Rules
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import FollowUpOutcome, PlannedCall
from agent_ls.loop.view import TurnView
from agent_ls.safety.stale_grants import stale_grants


@dataclass(frozen=True, slots=True)
class RevokeGrants:
    """Tells the person and other agents that the yes to commands ended, and with which file.

    The guard that goes by a yes does not wait for this.
    """

    name: ClassVar[str] = "revoke_grants"
    workspace: Workspace
    rules: Rules | None = None

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        """Answer from what was changed since the person said yes, by this call or before it."""
        if not view.session.changed_at:
            return FollowUpOutcome(result)
        roots = self.workspace.roots
        revoked = await asyncio.to_thread(stale_grants, view.session, roots, self.rules)
        return FollowUpOutcome(result, (revoked,) if revoked else ())
