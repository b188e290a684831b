"""``textDocument/diagnostic`` and ``workspace/diagnostic``: annotations, for clients that pull.

A result id is a digest of the diagnostics, so nothing is kept between two requests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lsprotocol import types

from agent_ls.lsp.editor_context import EditorContext


async def of_document(
    context: EditorContext, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """Return a document's diagnostics, or that they are those the client has."""
    found = context.presenters.diagnostics(params.text_document.uri)
    result_id = _result_id(found)
    if result_id == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=result_id)


async def of_workspace(
    context: EditorContext, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """Return the diagnostics of all documents that have some, or had some for the client."""
    known = {one.uri: one.value for one in params.previous_result_ids}
    uris = dict.fromkeys([*context.presenters.annotations.documents(), *known])
    return types.WorkspaceDiagnosticReport([_report(context, uri, known.get(uri)) for uri in uris])


def _report(
    context: EditorContext, uri: str, known: str | None
) -> types.WorkspaceDocumentDiagnosticReport:
    document = context.server.documents.get(uri)
    version = None if document is None else document.version
    found = context.presenters.diagnostics(uri)
    result_id = _result_id(found)
    if result_id == known:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, found, version, result_id=result_id)


def _result_id(found: Sequence[types.Diagnostic]) -> str:
    return hashlib.sha256(repr(found).encode("utf-8", "surrogatepass")).hexdigest()[:16]
