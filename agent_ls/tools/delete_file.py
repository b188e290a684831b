"""delete_file: remove one file; its text stays in the store for undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import DeleteFile as DeleteEdit
from agent_ls.domain.edits import TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.edits.lines import flattened
from agent_ls.edits.minimal import replacements_between
from agent_ls.loop.extension_points import ToolOutput
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import check_may_go, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import read_file_named


class DeleteFileArguments(Arguments):
    """Which file."""

    words: ClassVar[str] = "delete_file"

    path: FilePath = Field(description="File to delete.")


@dataclass(frozen=True, slots=True)
class DeleteFile(EditTool):
    """Deletes a file."""

    name: ClassVar[str] = "delete_file"
    description: ClassVar[str] = "Delete one file."
    kind: ClassVar[ToolKind] = ToolKind.DELETE
    rule: ClassVar[str | None] = "delete_file"
    Arguments: ClassVar[type[Arguments]] = DeleteFileArguments

    workspace: Workspace
    seen: SeenTexts | None = None
    """None: the file is deleted even if it changed since the model read it."""

    async def plan(self, arguments: DeleteFileArguments) -> ToolOutput:
        """Return the deletion, and the text that would be deleted."""
        file = await self._file(arguments.path)
        edit = DeleteEdit(path=arguments.path, base_version=file.version)
        title, grant = f"Delete {arguments.path}", self.grant(arguments)
        return ToolOutput(
            f"Deleted {arguments.path}.",
            data={"path": arguments.path},
            edits=(edit,),
            preview=lambda: preview_of(title, self.kind, edit, file.text, grant),
        )

    async def _file(self, path: str) -> TextFile:
        """Return the file; ``ToolError`` when others changed it since the model read it."""
        file = await read_file_named(path, self.workspace)
        check_may_go(file)
        read = None if self.seen is None else await self.seen.text(path)
        if read is not None and flattened(read) != flattened(file.text):
            changed = replacements_between(flattened(read), flattened(file.text))
            line = flattened(read).count("\n", 0, changed[0].start) + 1
            raise ToolError(
                f"{path} was not deleted. It changed since you read it, at line {line}: "
                "read it again, and delete it then if it should still be deleted."
            )
        return file
