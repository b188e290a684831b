"""The agent's open changes as hints in the text, in files that are open and in those that are not.

Owns what a hint says, where it stands, and how many a file gets; ``marks.py`` publishes them with
everything else, and what is done about a change is offered by ``review_offers.py``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_ls.domain.sentences import counted
from agent_ls.lsp.attention import Attention, lines_of_document
from agent_ls.lsp.documents import DocumentStore
from agent_ls.lsp.mark import ChangeHint, Mark, Span
from agent_ls.lsp.reviews import Change, Reviews
from agent_ls.lsp.uris import uri_to_path
from agent_ls.safety.text import visible_line

_log = logging.getLogger(__name__)

_MOST_HINTS = 60
"""In one file; the changes behind them are counted in one more."""
_MOST_CLOSED_FILES = 60
"""Of the files that are not open, those that newer turns changed come first."""
_PAUSE_S = 2.0
"""Between two looks whether other programs did something to those; no editor tells of all of it."""


class ChangeHints:
    """The hints of one editor, as they were when somebody last looked."""

    def __init__(
        self,
        reviews: Reviews,
        documents: DocumentStore,
        attention: Attention,
        outdated: Callable[[], None],
        *,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """Take the changes, the documents that they are in, and whom to tell that somebody has to
        look again, because files changed that are not open.
        """
        self._reviews, self._documents, self._attention = reviews, documents, attention
        self._tell_outdated, self._pause_s = outdated, pause_s
        self.is_on = False
        self._open: list[Mark] = []
        self._closed: list[Mark] = []
        self._closed_at: object = None
        """What the hints in closed files were made of."""
        self._watching: asyncio.Task[None] | None = None

    def marks(self) -> list[Mark]:
        """Return the hints of the sessions that are open now."""
        sessions = {one.id for one in self._reviews.sessions()}
        return [one for one in (*self._open, *self._closed) if one.session_id in sessions]

    async def look(self) -> None:
        """Find out which there are, and where; what could not be read is logged and stays."""
        if not self.is_on:
            self._open, self._closed, self._closed_at = [], [], None
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
            if self._watching is None or self._watching.done():
                self._watching = asyncio.get_running_loop().create_task(self._watch())
        except Exception:
            _log.exception("could not look where the agent's changes are")

    def close(self) -> None:
        """Stop watching files."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        """Tell whenever a file came, went or changed, for as long as there is one to watch."""
        while self.is_on and (files := await self._closed_files()):
            await asyncio.sleep(self._pause_s)
            if await self._closed_now(files) != self._closed_at:
                self._tell_outdated()

    async def _look_at_closed(self) -> None:
        """Read the changed files that are not open, unless nothing has happened to them."""
        now = await self._closed_now(await self._closed_files())
        if now == self._closed_at:
            return
        found: list[Mark] = []
        for path, (text, changes) in (await self._reviews.closed(_MOST_CLOSED_FILES)).items():
            uri = self._attention.uri(path)
            if uri is not None:
                found += hints_of(uri, changes, lines_of_document(text))
        self._closed, self._closed_at = found, now

    async def _closed_files(self) -> list[Path]:
        """Return the changed files that are not open, those that are gone, too."""
        changed = {
            file.path: None
            async for _, turn in self._reviews.turns()
            for file in turn.files.values()
            if file.open() and file.has_place
        }
        closed = [one for one in changed if self._attention.open_uri(one) is None]
        uris = (self._attention.uri(one) for one in closed[:_MOST_CLOSED_FILES])
        return [file for uri in uris if uri is not None and (file := uri_to_path(uri)) is not None]

    async def _closed_now(self, files: list[Path]) -> object:
        """Return what tells whether the hints in closed files would be others now."""
        versions = [(one.review, one.review.version) for one in self._reviews.sessions()]
        return versions, self._documents.uris(), files, await asyncio.to_thread(_stamps, files)


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


def _stamps(files: Sequence[Path]) -> list[tuple[int, ...]]:
    """Return of each file what is another when it was written, replaced or taken away."""
    found: list[tuple[int, ...]] = []
    for file in files:
        try:
            seen = file.stat()
        except OSError:
            found.append(())
        else:
            found.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
    return found
