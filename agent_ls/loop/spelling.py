"""One name for one file, however the model spelled it."""

from __future__ import annotations

from agent_ls.domain.errors import WorkspaceError
from agent_ls.loop.ports import Workspace


def canonical(path: str, workspace: Workspace) -> str:
    """Return how the workspace itself names the file; the path as it is where it names none."""
    try:
        _, absolute = workspace.locate(path)
    except WorkspaceError:
        return path
    return workspace.shown(absolute) or path
