"""move_file: rename or move one file to a path where nothing exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.edits import MoveFile as MoveEdit
from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import check_may_go, preview_of
from agent_ls.tools.plain_tool import PlainTool


class MoveFileArguments(Arguments):
    """From where to where."""

    path: FilePath = Field(description="File to move.")
    new_path: FilePath = Field(description="Its new path; nothing may be there.")


@dataclass(frozen=True, slots=True)
class MoveFile(PlainTool):
    """Moves a file."""

    name: ClassVar[str] = "move_file"
    description: ClassVar[str] = "Move or rename one file."
    effect: ClassVar[Effect] = Effect.WRITE
    kind: ClassVar[ToolKind] = ToolKind.MOVE
    group: ClassVar[str] = "change"
    rule: ClassVar[str | None] = "move_file"
    Arguments: ClassVar[type[Arguments]] = MoveFileArguments

    workspace: Workspace

    async def preview(self, arguments: MoveFileArguments) -> Preview:
        """Return the old and the new path."""
        edit = await self._plan(arguments)
        title = f"Move {arguments.path} to {arguments.new_path}"
        return preview_of(title, self.kind, edit, None, self.grant(arguments))

    async def run(self, arguments: MoveFileArguments, context: ToolContext) -> ToolOutput:
        """Plan the move; ACT carries it out."""
        edit = await self._plan(arguments)
        return ToolOutput(
            f"Moved {arguments.path} to {arguments.new_path}.",
            data={"path": arguments.path, "new_path": arguments.new_path},
            edits=(edit,),
        )

    async def _plan(self, arguments: MoveFileArguments) -> MoveEdit:
        file = await self.workspace.read(arguments.path)
        check_may_go(file)
        if await self.workspace.exists(arguments.new_path):
            raise ToolError(
                f"{arguments.new_path} exists already, so nothing was moved. Choose another "
                "name, or delete that file first."
            )
        return MoveEdit(path=arguments.path, base_version=file.version, new_path=arguments.new_path)
