"""The defaults of the tools that change files."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.errors import bug
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.tools.plain_tool import PlainTool


class EditTool(PlainTool, ABC):
    """A tool that changes files: it only plans, and ACT applies the plan's edits."""

    __slots__ = ()

    effect: ClassVar[Effect] = Effect.WRITE
    kind: ClassVar[ToolKind] = ToolKind.EDIT
    group: ClassVar[str] = "change"
    rule: ClassVar[str | None] = "edit"

    @abstractmethod
    async def plan(self, arguments: Any) -> ToolOutput:
        """Return the edits of the newest texts, and their preview; ``ToolError`` if none work."""
        ...

    async def preview(self, arguments: Any) -> Preview:
        """Return the plan's preview."""
        make = (await self.plan(arguments)).preview
        if make is None:
            raise bug(f"{self.name} planned edits without a preview")
        return await asyncio.to_thread(make)

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutput:
        """Return the plan."""
        return await self.plan(arguments)
