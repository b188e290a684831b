"""Marks converted to LSP: ranges in the client's columns, diagnostics, severities."""

from __future__ import annotations

from lsprotocol import types

from agent_ls.domain.findings import Severity
from agent_ls.lsp.connection.positions import Encoding, index_to_column
from agent_ls.lsp.diagnostics.annotation import Annotation

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def diagnostic_of(annotation: Annotation, encoding: Encoding) -> types.Diagnostic:
    """Return a mark as a diagnostic; columns stay in code points where the lines are unknown."""
    span, (first, last) = annotation.span, annotation.ends or (None, None)
    return types.Diagnostic(
        range=types.Range(
            _position(span.line, span.column, first, encoding),
            _position(max(span.line, span.end_line), span.end_column, last, encoding),
        ),
        message=annotation.message,
        severity=_SEVERITIES[annotation.severity],
        source=annotation.source,
        code=annotation.code or None,
    )


def _position(
    line: int, column: int | None, text: str | None, encoding: Encoding
) -> types.Position:
    if text is None:
        return types.Position(line, column or 0)
    index = len(text) if column is None else min(column, len(text))
    return types.Position(line, index_to_column(text, index, encoding))


def in_order(where: types.Range) -> types.Range:
    """Return a range with start before end; some clients send a backward selection as dragged."""
    return types.Range(*sorted((where.start, where.end), key=lambda at: (at.line, at.character)))
