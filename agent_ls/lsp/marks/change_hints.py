"""The agent's open changes as hints in the text, in files that are open and in those that are not.

Owns what a hint says, where it stands, and how many a file gets; ``marks.py`` publishes them with
everything else, and what is done about a change is offered by ``review_offers.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agent_ls.domain.sentences import counted
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.uris import path_to_uri, uri_to_path
from agent_ls.lsp.marks.mark import ChangeHint, Mark, Span
from agent_ls.lsp.marks.reviews import Change, Reviews
from agent_ls.lsp.workspace.attention import Attention, lines_of_document
from agent_ls.lsp.workspace.closed_files import ClosedFiles
from agent_ls.safety.text import visible_line

_log = logging.getLogger(__name__)

_MOST_HINTS = 60
"""In one file; the changes behind them are counted in one more."""
_MOST_CLOSED_FILES = 60
"""Of the files that are not open, those that newer turns changed come first."""


@dataclass(frozen=True, slots=True)
class _Closed:
    """The hints in a file that is not open."""

    made_of: object
    """Equal for as long as they would be the same ones."""
    hints: tuple[Mark, ...]


class ChangeHints:
    """The hints of one editor, as they were when somebody last looked."""

    def __init__(
        self,
        reviews: Reviews,
        documents: DocumentStore,
        attention: Attention,
        files: ClosedFiles,
        folders: Callable[[], Iterable[str]],
        outdated: Callable[[], None],
    ) -> None:
        """Take the changes, the documents that they are in, who follows the files that are not
        open, the URIs of the editor's folders, and whom to tell that somebody has to look again,
        because those changed.
        """
        self._reviews, self._documents, self._attention = reviews, documents, attention
        self._files, self._folders, self._tell_outdated = files, folders, outdated
        self.is_on = False
        self._open: list[Mark] = []
        self._closed: dict[str, _Closed] = {}
        """By path as the agent names it."""

    def marks(self) -> list[Mark]:
        """Return the hints of the sessions that are open now."""
        sessions = {one.id for one in self._reviews.sessions()}
        closed = [hint for one in self._closed.values() for hint in one.hints]
        return [one for one in (*self._open, *closed) if one.session_id in sessions]

    async def look(self) -> None:
        """Find out which there are, and where; what could not be read is logged and stays."""
        if not self.is_on:
            self._open, self._closed = [], {}
            self.close()
            return
        try:
            self._open = [
                hint
                for uri in self._documents.uris()
                for hint in hints_of(
                    uri, await self._reviews.of(uri), self._attention.lines(uri) or []
                )
            ]
            await self._look_at_closed()
        except Exception:
            _log.exception("could not look where the agent's changes are")

    def close(self) -> None:
        """Follow no files any more."""
        self._files.follow(self._tell_outdated, {})

    async def _look_at_closed(self) -> None:
        """Read the changed files that are not open, but those to which nothing has happened."""
        changed = await self._reviews.closed(_MOST_CLOSED_FILES)
        stamps = await self._files.stamps(changed)
        found: dict[str, _Closed] = {}
        for path, stamp in stamps.items():
            made_of = (stamp, changed[path])
            known = self._closed.get(path)
            if known is None or known.made_of != made_of:
                known = _Closed(made_of, await self._hints_in(path, path_to_uri(stamp.place)))
            found[path] = known
        self._closed = found
        # Of files in a folder that is gone nothing is known until it is back.
        folders = (path for uri in self._folders() if (path := uri_to_path(uri)) is not None)
        gone = frozenset(one for one in folders if not one.is_dir())
        self._files.follow(self._tell_outdated, stamps, gone)

    async def _hints_in(self, path: str, uri: str) -> tuple[Mark, ...]:
        """Return the hints in a file that is not open; none where it is gone."""
        there = await self._reviews.in_closed(path)
        if there is None:
            return ()
        text, changes = there
        return tuple(hints_of(uri, changes, lines_of_document(text)))


def hints_of(uri: str, changes: Sequence[Change], lines: Sequence[str]) -> list[Mark]:
    """Return the hints of a file that reads so; its changes are in the order of their lines."""
    found = [
        (one, _span(one), ChangeHint(one.placed.hunk.id, words_of(one)))
        for one in changes[:_MOST_HINTS]
    ]
    rest = changes[_MOST_HINTS:]
    if rest:
        many = "another change" if len(rest) == 1 else f"{len(rest)} more changes"
        words = f"agent-ls made {many} from here on. Keep or undo those above to see them marked."
        found.append((rest[0], Span.whole(rest[0].first_line), ChangeHint(None, words)))
    return [Mark(one.session.id, uri, span, hint).on(lines) for one, span, hint in found]


def words_of(change: Change) -> str:
    """Return what a change is, in one line."""
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
    """Return the lines of a change; of a whole file's the first, which stands for all of it."""
    if change.placed.hunk.kind != "text":
        return Span.whole(change.first_line)
    return Span(change.first_line, 0, change.last_line, None)
