"""list_dir: the files and folders in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import visible_line
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool

_MAX_ENTRIES = 500


class ListDirArguments(Arguments):
    """Which folder."""

    words: ClassVar[str] = "list_dir"

    path: FilePath = Field(".", description="Folder to list; by default the workspace.")


@dataclass(frozen=True, slots=True)
class ListDir(PlainTool):
    """Lists a folder."""

    name: ClassVar[str] = "list_dir"
    description: ClassVar[str] = "List a folder: files with their sizes, folders with a final /."
    title: ClassVar[str] = "List {path}"
    Arguments: ClassVar[type[Arguments]] = ListDirArguments

    workspace: Workspace

    async def run(self, arguments: ListDirArguments, context: ToolContext) -> ToolOutput:
        """Return one entry a line, with sizes of files."""
        entries = await self.workspace.list_dir(arguments.path)
        lines = [
            f"{visible_line(entry.name)}/"
            if entry.is_dir
            else f"{visible_line(entry.name)}  {entry.size_bytes} B"
            for entry in entries[:_MAX_ENTRIES]
        ]
        if len(entries) > _MAX_ENTRIES:
            lines.append(f"({len(entries) - _MAX_ENTRIES} more entries; use glob)")
        return ToolOutput("\n".join(lines) or "(empty)", data={"entries": len(entries)})
