"""Hint diagnostics for the agent's open changes, in open and closed files.

Owns a hint's text and place, and the limit per file. ``annotation_set.py`` publishes the hints;
``review_offers.py`` offers the actions on a change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_ls.domain.sentences import counted
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.diagnostics.annotation import Annotation, ChangeHint, Span
from agent_ls.lsp.diagnostics.reviews import Change, Reviews
from agent_ls.lsp.workspace.closed_files import ClosedFiles
from agent_ls.lsp.workspace.document_lookup import DocumentLookup, lines_of_document
from agent_ls.safety.text import visible_line

_log = logging.getLogger(__name__)

_MOST_HINTS = 60
"""Per file; one more hint counts the remaining changes."""
_MOST_CLOSED_FILES = 60
"""Closed files with hints at once; files of newer turns come first."""


@dataclass(frozen=True, slots=True)
class _Closed:
    """The hints of one closed file."""

    made_of: object
    """File stamp, changes and URI that the hints are of; these are reused while it is equal."""
    hints: tuple[Annotation, ...]


class ChangeHints:
    """The change hints of one editor, as of the last ``look``."""

    def __init__(
        self,
        reviews: Reviews,
        documents: DocumentStore,
        lookup: DocumentLookup,
        files: ClosedFiles,
        folders: Callable[[], Iterable[str]],
        outdated: Callable[[], None],
    ) -> None:
        """``folders`` yields the workspace folders' URIs; ``outdated`` is called when a closed file
        changes and the hints must be looked up again.
        """
        self._reviews, self._documents, self._lookup = reviews, documents, lookup
        self._files, self._folders, self._tell_outdated = files, folders, outdated
        self.is_on = False
        self._open: list[Annotation] = []
        self._closed: dict[str, _Closed] = {}
        """By path as the agent names it."""

    def annotations(self) -> list[Annotation]:
        """Return the hints of the open sessions."""
        sessions = {one.id for one in self._reviews.sessions()}
        closed = [hint for one in self._closed.values() for hint in one.hints]
        return [one for one in (*self._open, *closed) if one.session_id in sessions]

    async def look(self) -> None:
        """Recompute all hints; an error is logged and keeps the old ones."""
        if not self.is_on:
            self._open, self._closed = [], {}
            self.close()
            return
        try:
            self._open = [
                hint
                for uri in self._documents.uris()
                for hint in hints_of(
                    uri, await self._reviews.of(uri), self._lookup.lines(uri) or []
                )
            ]
            await self._look_at_closed()
        except Exception:
            _log.exception("could not look where the agent's changes are")

    def close(self) -> None:
        """Stop watching closed files."""
        self._files.follow(self._tell_outdated, {})

    async def _look_at_closed(self) -> None:
        """Recompute the hints of closed files whose stamp or changes differ."""
        changed = await self._reviews.closed(_MOST_CLOSED_FILES)
        stamps = await self._files.stamps(changed)
        found: dict[str, _Closed] = {}
        for path, stamp in stamps.items():
            uri = self._lookup.uri(path)
            if uri is None:
                continue
            made_of = (stamp, changed[path], uri)
            known = self._closed.get(path)
            if known is None or known.made_of != made_of:
                known = _Closed(made_of, await self._hints_in(path, uri))
            found[path] = known
        self._closed = found
        # Files in a missing folder cannot be watched: watch for the folder to come back.
        folders = (path for uri in self._folders() if (path := uri_to_path(uri)) is not None)
        gone = frozenset(one for one in folders if not one.is_dir())
        self._files.follow(self._tell_outdated, stamps, gone)

    async def _hints_in(self, path: str, uri: str) -> tuple[Annotation, ...]:
        """Return the hints of a closed file; empty when the file is gone."""
        there = await self._reviews.in_closed(path)
        if there is None:
            return ()
        text, changes = there
        return tuple(hints_of(uri, changes, lines_of_document(text)))


def hints_of(uri: str, changes: Sequence[Change], lines: Sequence[str]) -> list[Annotation]:
    """Return the hints of a file with these lines; ``changes`` must be in line order."""
    found = [
        (one, _span(one), ChangeHint(one.placed.hunk.id, words_of(one)))
        for one in changes[:_MOST_HINTS]
    ]
    rest = changes[_MOST_HINTS:]
    if rest:
        many = "another change" if len(rest) == 1 else f"{len(rest)} more changes"
        words = f"agent-ls made {many} from here on. Keep or undo those above to see them marked."
        found.append((rest[0], Span.whole(rest[0].first_line), ChangeHint(None, words)))
    return [Annotation(one.session.id, uri, span, hint).on(lines) for one, span, hint in found]


def words_of(change: Change) -> str:
    """Return a one-line description of a change."""
    hunk = change.placed.hunk
    added, removed = hunk.size
    match hunk.kind:
        case "created":
            what = f"made this file ({counted(added, 'line')})"
        case "moved":
            what = f"moved this file from {visible_line(hunk.title)}"
        case "opaque":
            what = f"changed this file ({visible_line(hunk.title)})"
        case _ if not removed:
            what = f"added {counted(added, 'line')}"
        case _ if not added:
            what = f"removed {counted(removed, 'line')} here"
        case _:
            before = f" (was {removed})" if added != removed else ""
            what = f"changed {counted(added, 'line')}{before}"
    since = ", changed again since" if change.placed.is_changed else ""
    return f"agent-ls {what}{since}. Keep or undo."


def _span(change: Change) -> Span:
    """Return the lines of a change; for a change of the whole file, its first line."""
    if change.placed.hunk.kind != "text":
        return Span.whole(change.first_line)
    return Span(change.first_line, 0, change.last_line, None)
