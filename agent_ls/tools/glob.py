"""glob: files that match a name pattern, without ignored ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import visible_line
from agent_ls.tools.arguments import Arguments, FilePath, PatternText
from agent_ls.tools.patterns import read_pattern, why_nothing
from agent_ls.tools.plain_tool import PlainTool

_MAX_FILES = 300


class GlobArguments(Arguments):
    """Which pattern, below which folder."""

    words: ClassVar[str] = "glob"

    pattern: PatternText = Field(description="Such as src/**/*.ts or *.toml.")
    path: FilePath = Field(".", description="Folder to look in.")


@dataclass(frozen=True, slots=True)
class Glob(PlainTool):
    """Finds files by name."""

    name: ClassVar[str] = "glob"
    description: ClassVar[str] = "Find files by their names. Ignored files are left out."
    title: ClassVar[str] = "Find {pattern} in {path}"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = GlobArguments

    workspace: Workspace

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolOutput:
        """Return the matching files, sorted, one a line."""
        found = await self.workspace.files(arguments.path)
        pattern = await read_pattern(arguments.pattern, arguments.path, self.workspace, found)
        # Matching thousands of names is slow.
        files = await asyncio.to_thread(pattern.filter, found)
        lines = [visible_line(name) for name in files[:_MAX_FILES]]
        if len(files) > _MAX_FILES:
            lines.append(f"({len(files) - _MAX_FILES} more; narrow the pattern)")
        if not lines:
            lines.append(f"No file matches. {await why_nothing(pattern, self.workspace)}")
        lines += [f"({note})" for note in found.notes]
        return ToolOutput("\n".join(lines), data={"files": len(files)})
