"""``workspace/didCreateFiles``, ``didRenameFiles`` and ``didDeleteFiles``: the person did that."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.edge import Edge


async def handle(
    edge: Edge,
    params: types.CreateFilesParams | types.RenameFilesParams | types.DeleteFilesParams,
) -> None:
    """Note what became of files: no command is held for it, and the review follows renames."""
    steps = edge.workspace.steps
    match params:
        case types.CreateFilesParams():
            for one in params.files:
                steps.note(one.uri)
        case types.RenameFilesParams():
            for one in params.files:
                steps.note(one.old_uri)
                steps.note(one.new_uri)
            renamed = [(one.old_uri, one.new_uri) for one in params.files]
            edge.spawn(edge.sessions.follow_renamed(renamed), is_request=True)
        case types.DeleteFilesParams():
            for one in params.files:
                steps.note(one.uri)
