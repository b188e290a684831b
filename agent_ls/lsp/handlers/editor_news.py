"""What the editor tells without asking: settings, folders, files, problems, a stopped progress."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.lsp import wire
from agent_ls.lsp.connection.options import settings_of
from agent_ls.lsp.edge import Edge
from agent_ls.lsp.marks.mark import SOURCE

_MOST_FILES = 1_000
"""The problems of so many files are kept; the oldest are forgotten."""


async def settings_changed(edge: Edge, params: types.DidChangeConfigurationParams) -> None:
    """Take the settings over; some editors send none and want to be asked."""
    await edge.use_editor_settings(settings_of(params.settings))


async def folders_changed(edge: Edge, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Work in the folders that are open now, and show what is to be reviewed there."""
    edge.refresh_roots()
    await edge.reload()
    await edge.review_open_changes()


async def files_changed(
    edge: Edge, params: types.CreateFilesParams | types.DeleteFilesParams
) -> None:
    """Note that the person created or deleted files, so that no command is blamed for it."""
    for one in params.files:
        edge.workspace.note_step(one.uri)


async def files_renamed(edge: Edge, params: types.RenameFilesParams) -> None:
    """Note that the person renamed files; the review follows them."""
    renamed = [(one.old_uri, one.new_uri) for one in params.files]
    for uri in (uri for pair in renamed for uri in pair):
        edge.workspace.note_step(uri)
    edge.spawn(edge.sessions.follow_renamed(renamed), is_request=True)


async def progress_cancelled(edge: Edge, params: types.WorkDoneProgressCancelParams) -> None:
    """Stop the turn whose progress was stopped; nothing when it is over."""
    session_id = edge.faces.progress.session_of(str(params.token))
    if session_id is not None:
        await edge.faces.sessions[session_id].cancel("user")


async def problems_found(edge: Edge, params: wire.EditorDiagnosticsParams) -> None:
    """Keep what other servers found in a document; it replaces what was said of it before."""
    # What the agent itself shows there is no problem for it to read about.
    others = [one for one in params.diagnostics if one.source != SOURCE]
    known = edge.foreign_diagnostics
    known.pop(params.uri, None)
    if others:
        known[params.uri] = others
        while len(known) > _MOST_FILES:
            del known[next(iter(known))]
