"""The user's place in the editor: active document, selection, open files, reported problems.

Owns what of this may go to the model. It is cleaned and capped; from files that may hold secrets,
neither text nor problems are included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_ls.domain.findings import Severity
from agent_ls.domain.focus import MAX_OPEN_FILES, MAX_PROBLEMS, Focus, Problem
from agent_ls.edits.lines import split_lines
from agent_ls.edits.notebooks import notebook_or_none
from agent_ls.lsp.connection.uris import is_unsaved
from agent_ls.lsp.wire import EditorDiagnostic
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.safety.excerpts import numbered, one_line
from agent_ls.safety.text import visible_line

_MAX_LINES = 60
_WITHHELD = "(not shown: it holds secrets or is a hard link, so reading it asks)"
_TOLD = (Severity.ERROR, Severity.WARNING)

Reported = Mapping[str, Sequence[EditorDiagnostic]]
"""Other servers' diagnostics, by URI."""


def focus_of(
    lookup: DocumentLookup,
    reported: Reported,
    uri: str | None = None,
    lines: tuple[int, int | None] | None = None,
    *,
    around: int = 0,
) -> Focus:
    """Return the user's place: ``uri``, or the document used last.

    ``lines`` is the cursor's line with None, or the first and last selected line. The excerpt has
    ``around`` more lines on each side. No tool can read a buffer without a file, so of that the
    lines around the cursor are an excerpt, too.
    """
    here = uri or lookup.active()
    path = "" if here is None else lookup.path(here) or ""
    others = [found for one in lookup.recent() if (found := lookup.path(one))]
    text = lookup.lines(here) or () if here is not None else ()
    if here is not None and (cells := notebook_or_none(path, lookup.text(here))) is not None:
        # The model reads the cells, and knows their lines.
        text, lines = split_lines(cells.shown), lines and cells.shown_lines(*lines)
    has_no_file = here is not None and is_unsaved(here)
    first, last = lines if lines and (path or has_no_file) else (None, None)
    span = None if first is None or last is None else (max(0, first - around), last + around)
    excerpt = ""
    if here is not None and first is not None and (span or has_no_file):
        shown = span or (max(0, first - _MAX_LINES // 2), first + _MAX_LINES // 2 - 1)
        is_withheld = bool(path) and lookup.is_secret(path)
        excerpt = _WITHHELD if is_withheld else _excerpt(text, *shown)
    return Focus(
        path=visible_line(path),
        first_line=first,
        last_line=last,
        excerpt=excerpt,
        open_files=tuple(visible_line(one) for one in others if one != path)[:MAX_OPEN_FILES],
        problems=_problems(lookup, reported, path, span),
    )


def _problems(
    lookup: DocumentLookup, reported: Reported, here: str, span: tuple[int, int] | None
) -> tuple[Problem, ...]:
    """Return the problems on these lines; without ``span``, of all files, the active one first."""
    found: list[Problem] = []
    paths = {uri: lookup.path(uri) for uri in reported}
    for uri, path in sorted(paths.items(), key=lambda one: one[1] != here):
        if path is None or (span is not None and path != here) or lookup.is_secret(path):
            continue
        for one in reported[uri]:
            if one.severity in _TOLD if span is None else span[0] <= one.line <= span[1]:
                named, message = visible_line(path), one_line(one.message)
                source = one_line(one.source)
                found.append(Problem(path=named, line=one.line, message=message, source=source))
            if len(found) == MAX_PROBLEMS:
                return tuple(found)
    return tuple(found)


def _excerpt(lines: Sequence[str], first: int, last: int) -> str:
    """Return numbered lines; the middle is left out when there are too many."""
    shown = numbered(lines, first, last)
    if len(shown) > _MAX_LINES:
        half = _MAX_LINES // 2
        shown = [*shown[:half], f"       … {len(shown) - 2 * half} lines …", *shown[-half:]]
    return "\n".join(shown)
