"""Client notifications: settings, folders, files, problems, cancelled progress."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.connection.options import settings_of
from agent_ls.lsp.edge import Edge


async def settings_changed(edge: Edge, params: types.DidChangeConfigurationParams) -> None:
    """Load the changed settings; some editors send none and have to be asked."""
    await edge.use_editor_settings(settings_of(params.settings))


async def folders_changed(edge: Edge, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Switch to the folders that are open now, and show their open changes."""
    edge.refresh_roots()
    await edge.reload()
    await edge.review_open_changes()


async def files_changed(
    edge: Edge, params: types.CreateFilesParams | types.DeleteFilesParams
) -> None:
    """Record files that the user created or deleted, so that no command is blamed."""
    for one in params.files:
        edge.workspace.note_step(one.uri)


async def files_renamed(edge: Edge, params: types.RenameFilesParams) -> None:
    """Record files that the user renamed; the review follows them."""
    renamed = [(one.old_uri, one.new_uri) for one in params.files]
    for uri in (uri for pair in renamed for uri in pair):
        edge.workspace.note_step(uri)
    edge.spawn(_follow(edge, renamed))


async def _follow(edge: Edge, renamed: Sequence[tuple[str, str]]) -> None:
    async with edge.changeover.work():
        await edge.sessions.follow_renamed(renamed)


async def progress_cancelled(edge: Edge, params: types.WorkDoneProgressCancelParams) -> None:
    """Cancel the turn whose progress the user cancelled, if it still runs."""
    session_id = edge.faces.progress.session_of(str(params.token))
    if session_id is not None:
        await edge.faces.sessions[session_id].cancel("user")


async def problems_found(edge: Edge, params: wire.EditorDiagnosticsParams) -> None:
    """Replace the stored diagnostics of other servers for a document."""
    edge.problems_told(params.uri, params.diagnostics)
