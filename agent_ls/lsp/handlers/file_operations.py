"""``workspace/didCreateFiles``, ``didRenameFiles`` and ``didDeleteFiles``: the person did that."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp.edge import Edge


async def handle(
    edge: Edge,
    params: types.CreateFilesParams | types.RenameFilesParams | types.DeleteFilesParams,
) -> None:
    """Note what became of files: no command is held for it, and the review follows renames."""
    workspace = edge.workspace
    match params:
        case types.CreateFilesParams():
            for one in params.files:
                workspace.note_step(one.uri)
        case types.RenameFilesParams():
            for one in params.files:
                workspace.note_step(one.old_uri)
                workspace.note_step(one.new_uri)
            renamed = [(one.old_uri, one.new_uri) for one in params.files]
            edge.spawn(edge.sessions.follow_renamed(renamed), is_request=True)
        case types.DeleteFilesParams():
            for one in params.files:
                workspace.note_step(one.uri)
