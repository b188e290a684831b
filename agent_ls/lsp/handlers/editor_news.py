"""Client notifications: settings, folders, files, problems, cancelled progress."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.connection.options import settings_of
from agent_ls.lsp.editor_context import EditorContext


async def settings_changed(
    context: EditorContext, params: types.DidChangeConfigurationParams
) -> None:
    """Load the changed settings; some editors send none and have to be asked."""
    await context.use_editor_settings(settings_of(params.settings))


async def folders_changed(
    context: EditorContext, params: types.DidChangeWorkspaceFoldersParams
) -> None:
    """Switch to the folders that are open now, and show their open changes."""
    context.refresh_roots()
    await context.reload()
    await context.review_open_changes()


async def files_changed(
    context: EditorContext, params: types.CreateFilesParams | types.DeleteFilesParams
) -> None:
    """Record files that the user created or deleted, so that no command is blamed."""
    for one in params.files:
        context.workspace.note_step(one.uri)


async def files_renamed(context: EditorContext, params: types.RenameFilesParams) -> None:
    """Record files that the user renamed; the review follows them."""
    renamed = [(one.old_uri, one.new_uri) for one in params.files]
    for uri in (uri for pair in renamed for uri in pair):
        context.workspace.note_step(uri)
    context.spawn(_follow(context, renamed))


async def _follow(context: EditorContext, renamed: Sequence[tuple[str, str]]) -> None:
    async with context.settings_lock.work():
        await context.sessions.follow_renamed(renamed)


async def progress_cancelled(
    context: EditorContext, params: types.WorkDoneProgressCancelParams
) -> None:
    """Cancel the turn whose progress the user cancelled, if it still runs."""
    session_id = context.presenters.progress.session_of(str(params.token))
    if session_id is not None:
        await context.presenters.sessions[session_id].cancel("user")


async def problems_found(context: EditorContext, params: wire.EditorDiagnosticsParams) -> None:
    """Replace the stored diagnostics of other servers for a document."""
    context.problems_told(params.uri, params.diagnostics)
