"""Do the user's hooks change the result?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.calls import ToolResult
from agent_ls.loop.calls.tool_hooks import ask_after_tool
from agent_ls.loop.extension_points import FollowUpOutcome, PlannedCall
from agent_ls.loop.hooks import Hooks
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class AfterToolHooks:
    """Lets ``hooks.after_tool`` replace the result's text.

    Invariant: runs before masking and cutting, so that a hook's text is masked and cut too. Source:
    S2 post-tool hooks, S3 ``afterToolCall``.
    """

    name: ClassVar[str] = "after_tool_hooks"
    hooks: Hooks

    async def follow(
        self, planned: PlannedCall, result: ToolResult, view: TurnView
    ) -> FollowUpOutcome:
        changed, events = await ask_after_tool(planned, result, view, self.hooks)
        return FollowUpOutcome(changed, events)
