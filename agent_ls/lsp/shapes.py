"""Marks as LSP shows them: ranges in the client's columns, diagnostics, severities."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from agent_ls.domain.findings import Severity
from agent_ls.lsp.marks import Mark, Span
from agent_ls.lsp.positions import Encoding, index_to_column

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def range_of(span: Span, lines: Sequence[str] | None, encoding: Encoding) -> types.Range:
    """Return a span in the client's columns; without the text, code points have to do."""
    return types.Range(
        _position(span.line, span.column, lines, encoding),
        _position(max(span.line, span.end_line), span.end_column, lines, encoding),
    )


def diagnostic_of(mark: Mark, lines: Sequence[str] | None, encoding: Encoding) -> types.Diagnostic:
    """Return a mark as a diagnostic."""
    return types.Diagnostic(
        range=range_of(mark.span, lines, encoding),
        message=mark.message,
        severity=_SEVERITIES[mark.severity],
        source=mark.source,
        code=mark.code or None,
    )


def _position(
    line: int, column: int | None, lines: Sequence[str] | None, encoding: Encoding
) -> types.Position:
    if lines is None or not lines:
        return types.Position(line, column or 0)
    line = max(0, min(line, len(lines) - 1))
    text = lines[line]
    index = len(text) if column is None else min(column, len(text))
    return types.Position(line, index_to_column(text, index, encoding))
