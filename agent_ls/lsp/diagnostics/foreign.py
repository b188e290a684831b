"""What other servers say of files, and whether a finding of ours says the same."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

from agent_ls.domain.findings import Finding, Severity
from agent_ls.lsp.wire import EditorDiagnostic

_MOST_FILES = 1_000
"""Files with stored diagnostics; the oldest are dropped."""

_MOST_SEEN = 100
T = TypeVar("T", bound=Sequence[EditorDiagnostic])

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFORMATION, Severity.HINT)

Shown = Literal["never", "deduplicated", "all"]


class ForeignDiagnostics(dict[str, Sequence[EditorDiagnostic]]):
    """Other servers' diagnostics by URI; only files that have some."""

    shown: Shown = "deduplicated"
    """Which findings of ours are shown."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, list[EditorDiagnostic]] = {}
        """Diagnostics from requests; each request has only those of its own lines."""

    def replace(self, uri: str, found: Sequence[EditorDiagnostic]) -> None:
        """Replace a file's diagnostics."""
        _put(self, uri, found)

    def see(self, uri: str, lines: tuple[int, int], found: Sequence[EditorDiagnostic]) -> bool:
        """Replace the diagnostics of these lines (0-based, inclusive); say whether they changed."""
        before = self._seen.get(uri, [])
        others = [one for one in before if one.end_line < lines[0] or lines[1] < one.line]
        now = [*others, *found][-_MOST_SEEN:]
        _put(self._seen, uri, now)
        return now != before

    def hides(self, uri: str, finding: Finding, line: int) -> bool:
        """Say whether our finding on this line (0-based) is not to be shown."""
        if self.shown == "never":
            return True
        if self.shown == "all":
            return False
        others = (*self.get(uri, ()), *self._seen.get(uri, ()))
        return any(one.line == line and _is_same(one, finding) for one in others)


def _put(said: dict[str, T], uri: str, found: T) -> None:
    """Put it last; of many files the oldest are dropped."""
    said.pop(uri, None)
    if found:
        said[uri] = found
        while len(said) > _MOST_FILES:
            del said[next(iter(said))]


def _is_same(other: EditorDiagnostic, finding: Finding) -> bool:
    ours, theirs = (" ".join(text.lower().split()) for text in (finding.message, other.message))
    return ours in theirs or theirs in ours or (finding.code != "" and finding.code == other.code)


def editor_diagnostics(found: Sequence[Any]) -> list[EditorDiagnostic]:
    """Return LSP diagnostics as ours, without those that are not understood."""
    read: list[EditorDiagnostic] = []
    for one in found:
        with suppress(KeyError, TypeError, IndexError, ValueError):
            start, end = one["range"]["start"], one["range"]["end"]
            read.append(
                EditorDiagnostic(
                    line=start["line"],
                    column=start["character"],
                    end_line=end["line"],
                    end_column=end["character"],
                    message=one["message"],
                    source=str(one.get("source") or ""),
                    code=str(one.get("code") or ""),
                    severity=_SEVERITIES[int(one.get("severity", 1)) - 1],
                )
            )
    return read
