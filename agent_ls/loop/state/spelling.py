"""Normalises the paths that models write, so that one file has one name."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports.workspace import Workspace

_OTHER_NAMES: Mapping[str, str] = dict.fromkeys(
    ("file", "file_path", "filename", "filepath", "filePath", "absolute_path", "target_file"),
    "path",
)


def in_one_spelling(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return a call's arguments normalised for comparison, without disk access."""
    found: dict[str, object] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        name = _OTHER_NAMES.get(name, name)
        if isinstance(value, str) and name.endswith("path"):
            value = posixpath.normpath(value.strip().replace("\\", "/"))
        found[name] = value
    return found


def canonical(path: str, workspace: Workspace) -> str:
    """Return the workspace's own name of the file; the path unchanged when it has none."""
    try:
        _, absolute = workspace.locate(path)
    except WorkspaceError:
        return path
    return workspace.shown(absolute) or path
