"""delete_file: remove one file; its text stays in the store for undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.edits import DeleteFile as DeleteEdit
from agent_ls.domain.edits import TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.edits.lines import flattened
from agent_ls.edits.minimal import replacements_between
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import check_may_go, preview_of
from agent_ls.tools.plain_tool import PlainTool


class DeleteFileArguments(Arguments):
    """Which file."""

    path: FilePath = Field(description="File to delete.")


@dataclass(frozen=True, slots=True)
class DeleteFile(PlainTool):
    """Deletes a file."""

    name: ClassVar[str] = "delete_file"
    description: ClassVar[str] = "Delete one file."
    effect: ClassVar[Effect] = Effect.WRITE
    kind: ClassVar[ToolKind] = ToolKind.DELETE
    group: ClassVar[str] = "change"
    rule: ClassVar[str | None] = "delete_file"
    Arguments: ClassVar[type[Arguments]] = DeleteFileArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: the file is deleted even if it changed since the model read it."""

    async def preview(self, arguments: DeleteFileArguments) -> Preview:
        """Return the text that would be deleted."""
        file = await self._file(arguments.path)
        edit = DeleteEdit(path=arguments.path, base_version=file.version)
        grant = self.grant(arguments)
        return preview_of(f"Delete {arguments.path}", self.kind, edit, file.text, grant)

    async def run(self, arguments: DeleteFileArguments, context: ToolContext) -> ToolOutput:
        """Plan the deletion; ACT carries it out."""
        file = await self._file(arguments.path)
        edit = DeleteEdit(path=arguments.path, base_version=file.version)
        return ToolOutput(
            f"Deleted {arguments.path}.", data={"path": arguments.path}, edits=(edit,)
        )

    async def _file(self, path: str) -> TextFile:
        """Return the file; ``ToolError`` when others changed it since the model read it."""
        file = await self.workspace.read(path)
        check_may_go(file)
        read = None if self.seen is None else await self.seen.text(path)
        if read is not None and flattened(read) != flattened(file.text):
            changed = replacements_between(flattened(read), flattened(file.text))
            line = flattened(read).count("\n", 0, changed[0].start) + 1
            raise ToolError(
                f"{path} was not deleted. It changed since you read it, at line {line}: "
                "read it again, and delete it if it is still to go."
            )
        return file
