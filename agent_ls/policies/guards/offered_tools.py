"""Was the tool offered with the request that the call answers?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.events import RequestPrepared
from agent_ls.domain.verdicts import Allow, Deny, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.offering import EDIT_FORMATS, is_left
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Denies calls of tools that a hook took out of the request.

    Source: S3, tools changed by ``beforeLLMCall``.
    """

    name: ClassVar[str] = "offered_tools"

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        prefix, limits = view.session.prefix, view.turn.limits
        names = {planned.tool.name}
        if names <= EDIT_FORMATS:
            # A model may call the other edit tool from its training; both do the same.
            names |= EDIT_FORMATS
        if not any(True for _ in view.each(RequestPrepared)):
            # A custom command's own calls come before the turn's first request.
            if any(is_left(one, limits) for one in names):
                return Allow()
            return Deny(f"The command's list of tools leaves {planned.tool.name} out.")
        if prefix is None or names & set(prefix.tools):
            return Allow()
        return Deny(
            f"{planned.tool.name} is not available now. The tools are: {', '.join(prefix.tools)}."
        )
