"""Reads a file for a tool; if it does not exist, names files of the same name."""

from __future__ import annotations

import posixpath

from agent_ls.domain.edits import TextFile
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import visible_line

_MAX_NAMED = 3


async def read_file_named(path: str, workspace: Workspace) -> TextFile:
    """Return the file. Errors: ``ToolError`` that names files of the same name elsewhere."""
    try:
        return await workspace.read(path)
    except WorkspaceError as error:
        near = [] if "does not exist" not in str(error) else await _near(path, workspace)
        if not near:
            raise
        raise ToolError(f"{error} There is {' and '.join(near)}.") from None


async def _near(path: str, workspace: Workspace) -> list[str]:
    name = posixpath.basename(path).lower()
    try:
        files = await workspace.files(".")
    except WorkspaceError:
        return []
    found = sorted(
        (one for one in files if posixpath.basename(one).lower() == name),
        key=lambda one: (one.count("/"), one),
    )
    return [visible_line(one) for one in found[:_MAX_NAMED]]
