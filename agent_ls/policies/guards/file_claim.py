"""Is another agent changing this file right now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import Effect
from agent_ls.domain.record import Record
from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.agents import Claims
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.spelling import canonical
from agent_ls.loop.state.view import TurnView


class FileClaimOptions(Record):
    """How long a file belongs to the agent that changes it."""

    lease_s: float = Field(default=60.0, ge=0)
    """After an agent's last change to a file, before another one may change it; 0: at once."""


@dataclass(frozen=True, slots=True)
class FileClaim:
    """Keeps parallel agents from changing the same file; each change renews the claim.

    A delegating agent gives its files back first, because the sub-agent may have to change them.
    Source: S0, blackboard.
    """

    name: ClassVar[str] = "file_claim"
    claims: Claims
    workspace: Workspace
    options: FileClaimOptions = FileClaimOptions()

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        owner = view.session.session_id
        if planned.effect is Effect.DELEGATE:
            self.claims.release(owner)
        if planned.effect is not Effect.WRITE or not self.options.lease_s:
            return Allow()
        for path in planned.paths:
            name = canonical(path, self.workspace)
            holder = self.claims.claim(name, owner, self.options.lease_s)
            if holder is not None:
                return Deny(
                    f"Another agent ({holder}) is changing {path} right now. Work on something "
                    f"else first and come back to it after {self.options.lease_s:.0f} s."
                )
        return Allow()
