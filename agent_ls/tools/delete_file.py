"""delete_file: remove one file; its text stays in the store for undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.edits import DeleteFile as DeleteEdit
from agent_ls.loop.grants import grant_of
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import preview_of


class DeleteFileArguments(Arguments):
    """Which file."""

    path: FilePath


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Deletes a file."""

    name: ClassVar[str] = "delete_file"
    description: ClassVar[str] = "Delete one file."
    effect: ClassVar[Effect] = Effect.WRITE
    kind: ClassVar[ToolKind] = ToolKind.DELETE
    Arguments: ClassVar[type[Arguments]] = DeleteFileArguments

    workspace: Workspace

    def paths(self, arguments: DeleteFileArguments) -> tuple[str, ...]:
        """Return the file."""
        return (arguments.path,)

    async def preview(self, arguments: DeleteFileArguments) -> Preview:
        """Return the text that would go."""
        file = await self.workspace.read(arguments.path)
        edit = DeleteEdit(path=arguments.path, base_version=file.version)
        grant = grant_of(self.name, arguments)
        return preview_of(f"Delete {arguments.path}", self.kind, edit, file.text, grant)

    async def run(self, arguments: DeleteFileArguments, context: ToolContext) -> ToolOutput:
        """Plan the deletion; ACT carries it out."""
        file = await self.workspace.read(arguments.path)
        edit = DeleteEdit(path=arguments.path, base_version=file.version)
        return ToolOutput(
            f"Deleted {arguments.path}.", data={"path": arguments.path}, edits=(edit,)
        )
