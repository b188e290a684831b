"""Must a user see a call because the tool server behind it is not as they approved it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.verdicts import Allow, Ask, GuardVerdict
from agent_ls.loop.extension_points import PlannedCall
from agent_ls.loop.ports.tools import ToolSource
from agent_ls.loop.state.view import TurnView


@dataclass(frozen=True, slots=True)
class ToolServers:
    """Asks for calls of servers that are new or changed, in every mode, whatever was granted."""

    name: ClassVar[str] = "tool_servers"
    source: ToolSource | None = None

    async def judge(self, planned: PlannedCall, view: TurnView) -> GuardVerdict:
        reason = self.source.held(planned.tool.name) if self.source is not None else ""
        return Ask(reason, broad=False) if reason else Allow()
