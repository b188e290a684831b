"""Was the tool offered with the request that the call answers?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.offering import EDIT_FORMATS
from agent_ls.loop.sockets import PlannedCall
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Denies calls of tools that a hook took out of the request.

    Source: seed 003, tools changed by ``beforeLLMCall``.
    """

    name: ClassVar[str] = "offered_tools"

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        prefix = view.session.prefix
        names = {planned.tool.name}
        if names <= EDIT_FORMATS:
            # A model may call the other edit tool from its training; both do the same.
            names |= EDIT_FORMATS
        if prefix is None or names & set(prefix.tools):
            return Allow()
        return Deny(
            f"{planned.tool.name} is not available now. The tools are: {', '.join(prefix.tools)}."
        )
