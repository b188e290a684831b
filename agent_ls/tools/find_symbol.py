"""find_symbol: where something is defined, in the whole workspace."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.record import Record
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import cleaned, visible_line
from agent_ls.safety.unread import unread_below
from agent_ls.tools.arguments import Arguments
from agent_ls.tools.plain_tool import PlainTool


class FindSymbolArguments(Arguments):
    """What is looked for."""

    words: ClassVar[str] = "find_symbol"

    name: str = Field(min_length=1, description="Name, part of it, or Class.method.")


class FindSymbolOptions(Record):
    """How much one search shows."""

    max_found: int = 40
    """Definitions shown, the best first."""


@dataclass(frozen=True, slots=True)
class FindSymbol(PlainTool):
    """Finds definitions."""

    name: ClassVar[str] = "find_symbol"
    description: ClassVar[str] = "Find where something is defined in the workspace."
    title: ClassVar[str] = "Find {name}"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = FindSymbolArguments

    code: CodeIntel
    workspace: Workspace
    rules: Rules | None = None
    options: FindSymbolOptions = FindSymbolOptions()

    def paths(self, arguments: FindSymbolArguments) -> tuple[str, ...]:
        """Return the whole workspace."""
        return (".",)

    async def run(self, arguments: FindSymbolArguments, context: ToolContext) -> ToolOutput:
        """Return one line for each definition: place, name, declaration."""
        found = await self.code.find(arguments.name, self.options.max_found + 1)
        # A language server that works beside agent-ls knows no rules.
        unread = await asyncio.to_thread(unread_below, ".", self.workspace, self.rules)
        shown = [one for one in found[: self.options.max_found] if one.path not in unread]
        lines = [
            f"{visible_line(one.path)}:{one.line}: {one.qualified}: {cleaned(one.signature)}"
            for one in shown
        ]
        if len(found) > self.options.max_found:
            lines.append(f"(more than {self.options.max_found}; give a longer name)")
        number = len(lines)
        lines = lines or [f"Nothing is defined under a name like {arguments.name!r}."]
        if found.gap:
            lines.append(f"({found.gap})")
        return ToolOutput(
            "\n".join(lines),
            data={"found": number},
        )
