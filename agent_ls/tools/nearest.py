"""Names of files that look like those that a call names: they are named, and not made twice."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable

from agent_ls.domain.edits import CreateFile, DeleteFile, FileEdit, MoveFile, TextFile
from agent_ls.domain.errors import ToolError, WorkspaceError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.state.spelling import canonical
from agent_ls.safety.text import visible_line

_MAX_NAMED = 3


async def read_file_named(path: str, workspace: Workspace) -> TextFile:
    """Return the file. Errors: ``ToolError`` that names files of the same name elsewhere."""
    try:
        return await workspace.read(path)
    except WorkspaceError as error:
        near = await _near(path, workspace)
        if not near:
            raise
        raise ToolError(f"{error} There is {' and '.join(near)}.") from None


async def check_new_names(edits: Iterable[FileEdit], workspace: Workspace) -> None:
    """Check that no edit makes a file or folder whose name looks like one that exists.

    Errors: ``ToolError``. A file may be renamed to a name that looks like its own.
    """
    edits = tuple(edits)
    gone = {
        canonical(one.path, workspace) for one in edits if isinstance(one, DeleteFile | MoveFile)
    }
    for edit in edits:
        if isinstance(edit, CreateFile | MoveFile):
            path = edit.path if isinstance(edit, CreateFile) else edit.new_path
            near = await _look_alike(canonical(path, workspace), workspace)
            if near is not None and near not in gone:
                near = visible_line(near)
                raise ToolError(
                    f"{path} was not made: {near} exists, and many systems take the two names for "
                    f"one. Use {near} as it is spelled, or choose a name that differs more."
                )


async def _look_alike(path: str, workspace: Workspace) -> str | None:
    """Return the existing file or folder that looks like a new one on this path; None without."""
    folder = ""
    for part in path.split("/"):
        if not await workspace.exists(folder + part):
            try:
                entries = await workspace.list_dir(folder or ".")
            except WorkspaceError:
                return None
            same = [one.name for one in entries if _folded(one.name) == _folded(part)]
            # A call of the same answer may have made this very folder meanwhile.
            if part not in same:
                return folder + same[0] if same else None
        folder += f"{part}/"
    return None


async def _near(path: str, workspace: Workspace) -> list[str]:
    """Return the files of the same name, as ``_folded``, if there is none on this path."""
    name = _folded(posixpath.basename(path))
    try:
        if await workspace.exists(path):
            return []
        files = await workspace.files(".")
    except WorkspaceError:
        return []
    found = sorted(
        (one for one in files if _folded(posixpath.basename(one)) == name),
        key=lambda one: (one.count("/"), one),
    )
    return [visible_line(one) for one in found[:_MAX_NAMED]]


def _folded(name: str) -> str:
    """Return a name as it looks: without case, and with plain forms of characters and blanks."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFKC", name).casefold()
