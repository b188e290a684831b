"""move_file: rename or move one file to a path where nothing exists."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.edits import MoveFile as MoveEdit
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.extension_points import ToolOutput
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.paths import locate
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import check_may_go, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.nearest import check_new_names, read_file_named


class MoveFileArguments(Arguments):
    """From where to where."""

    words: ClassVar[str] = "move_file"

    path: FilePath = Field(description="File to move.")
    new_path: FilePath = Field(description="Its new path; nothing may be there.")


@dataclass(frozen=True, slots=True)
class MoveFile(EditTool):
    """Moves a file."""

    name: ClassVar[str] = "move_file"
    description: ClassVar[str] = "Move or rename one file."
    kind: ClassVar[ToolKind] = ToolKind.MOVE
    rule: ClassVar[str | None] = "move_file"
    Arguments: ClassVar[type[Arguments]] = MoveFileArguments

    workspace: Workspace

    async def plan(self, arguments: MoveFileArguments) -> ToolOutput:
        """Return the move, with the old and the new path as its preview."""
        edit = await self._move(arguments)
        title = f"Move {arguments.path} to {arguments.new_path}"
        return ToolOutput(
            f"Moved {arguments.path} to {arguments.new_path}.",
            data={"path": arguments.path, "new_path": arguments.new_path},
            edits=(edit,),
            preview=lambda: preview_of(title, self.kind, edit, None, self.grant(arguments)),
        )

    async def _move(self, arguments: MoveFileArguments) -> MoveEdit:
        await asyncio.to_thread(_check_no_folder, arguments.path, self.workspace)
        file = await read_file_named(arguments.path, self.workspace)
        check_may_go(file)
        if await self.workspace.exists(arguments.new_path):
            raise ToolError(
                f"{arguments.new_path} exists already, so nothing was moved. Choose another "
                "name, or delete that file first."
            )
        edit = MoveEdit(path=arguments.path, base_version=file.version, new_path=arguments.new_path)
        await check_new_names((edit,), self.workspace)
        return edit


def _check_no_folder(path: str, workspace: Workspace) -> None:
    """Refuse to move a folder, or a link to one. Errors: ``ToolError``."""
    try:
        place = locate(path, workspace.roots)
    except WorkspaceError:
        return
    if not place.absolute.is_dir():
        return
    what = "is a folder"
    if place.root.path.joinpath(*place.spelled).is_symlink():
        what = f"is a link to the folder {workspace.shown(place.absolute)}"
    raise ToolError(
        f"{path} {what}, and move_file moves one file: nothing was moved. A command such as mv "
        "moves it as a whole."
    )
