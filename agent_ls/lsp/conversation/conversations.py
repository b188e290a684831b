"""Keeps the conversation documents up to date: in the editor's buffer, else in the file.

An EventListener of all sessions. Owns when a document is written and what the user's words below
its last heading are. An open document changes only through the editor, in few edits; what a user
changes above the heading is overwritten by the next one, because the journal is the truth.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolKind
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind, Snapshot
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.saved_texts import version_of
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.conversation.transcript import Transcript
from agent_ls.lsp.conversation_page import (
    Page,
    changes_of,
    is_conversation,
    merged,
    place_of,
    rewrite,
    session_named,
    words_below,
)
from agent_ls.lsp.diagnostics.annotation_set import FindingsOf
from agent_ls.lsp.updates import ENDS_PIECES, Translation
from agent_ls.lsp.workspace.buffer_edits import BufferEdits
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.session.session import Session

_log = logging.getLogger(__name__)

_MERGE_S = 0.3
"""Updates within this time are one edit of the buffer."""
_FILE_MERGE_S = 1.0
_AGAIN_S = 0.5
"""Delay before an edit is computed again, because the user typed meanwhile."""

_RESTS = (e.ApprovalRequested, e.QuestionAsked, e.TurnEnded)
"""Shown at once."""


@dataclass(slots=True)
class _Kept:
    """One session's document."""

    session: Session
    translation: Translation
    transcript: Transcript
    place: Path
    seq: int = 0
    """The last event in the transcript; 0: the journal has not been read yet."""
    early: list[e.StoredEvent] = field(default_factory=list[e.StoredEvent])
    """What came before the journal was read."""
    sent: str = ""
    """Words that were sent and still stand in the document."""
    sent_last: str = ""
    """The last words that were sent from the open document; its file may still hold them."""
    timer: asyncio.TimerHandle | None = None
    writing: asyncio.Task[None] | None = None
    is_outdated: bool = False


class Conversations:
    """The conversation documents of one editor."""

    def __init__(
        self,
        server: AgentLanguageServer,
        editor: EditorClient,
        tool_kinds: Mapping[str, ToolKind],
        uri_of: Callable[[str], str | None],
        sessions: Mapping[str, Session],
        resume: Callable[[str], Awaitable[Session]],
        findings: FindingsOf,
    ) -> None:
        """``resume`` opens the session of a document that the user opened; ``findings`` yields
        what checkers find now, of which some was mended since it was reported.
        """
        self._server, self._editor = server, editor
        self._documents = server.documents
        self._buffers = BufferEdits(server.documents, editor)
        self._tool_kinds, self._uri_of = tool_kinds, uri_of
        self._sessions, self._resume = sessions, resume
        self._findings_of = findings
        self._kept: dict[str, _Kept] = {}
        self._live: dict[str, tuple[int, list[e.Ephemeral]]] = {}
        """Per session: the pieces of the answer that streams, for a document opened meanwhile; and
        the number of the event before them."""
        self._tasks: set[asyncio.Future[None]] = set()
        server.documents.listen(self._on_document)

    # What happens in the sessions.

    def begin(self, session: Session) -> None:
        """Follow a turn that runs already."""
        if session.state.is_running and not self._server.profile.opted_in:
            self._update(self._keep(session))

    def on_event(self, stored: e.StoredEvent) -> None:
        """Show an event soon; where the panel is, only in a document that was asked for."""
        session = self._sessions.get(stored.session_id)
        if isinstance(stored.event, ENDS_PIECES):
            self._live[stored.session_id] = (stored.seq, [])
        is_turn = isinstance(stored.event, e.TurnStarted) and not self._server.profile.opted_in
        kept = self._kept.get(stored.session_id)
        if is_turn and session is not None:
            kept = self._keep(session)
        if kept is not None:
            self._take(kept, stored)
            self._update(kept, at_once=isinstance(stored.event, _RESTS))

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Show a streamed piece soon."""
        if not isinstance(piece, e.TextStreamed | e.AttemptDiscarded):
            return
        self._live.setdefault(session_id, (0, []))[1].append(piece)
        kept = self._kept.get(session_id)
        if kept is not None:
            if kept.seq:
                kept.transcript.feed(kept.translation.of_ephemeral(piece))
            self._update(kept)

    # What the user does.

    def markdown(self, session_id: str, journal: Iterable[e.StoredEvent]) -> str:
        """Return a journal as a text to read, without a place for words."""
        translation = Translation(self._tool_kinds, self._uri_of)
        transcript = Transcript(session_id)
        for stored in journal:
            for update in translation.feed(stored.event):
                transcript.feed(update)
        return transcript.turns().text

    async def show(self, session: Session) -> Path:
        """Write a session's document and return its place."""
        kept = self._keep(session)
        await self._write(kept)
        return kept.place

    def session_of(self, uri: str) -> Session | None:
        """Return the session whose document this is; None for any other document."""
        kept = self._kept_at(uri)
        return None if kept is None else self._sessions.get(kept.session.id)

    def words(self, uri: str) -> str:
        """Return what the user wrote below the last heading of an open document and did not
        send yet.
        """
        document, kept = self._documents.get(uri), self._kept_at(uri)
        if document is None or kept is None:
            return ""
        return words_below(document.text).removeprefix(kept.sent).strip()

    def note_sent(self, session_id: str, words: str) -> None:
        """Take words that were sent out of the document."""
        kept = self._kept[session_id]
        kept.sent = kept.sent_last = words
        self._update(kept, at_once=True)

    def renew_findings(self) -> None:
        """Show soon which findings are still there."""
        for kept in self._kept.values():
            if kept.seq and self._renew_findings(kept):
                self._update(kept)

    def _renew_findings(self, kept: _Kept) -> bool:
        found = (one for _, findings in self._findings_of(kept.session.state) for one in findings)
        return kept.transcript.renew_findings(kept.translation.problems(found))

    def page(self, session_id: str) -> Page:
        """Return what a session's document holds above the user's words."""
        return self._kept[session_id].transcript.page()

    async def look(self) -> None:
        """Resume the sessions of the documents that were open before the sessions were."""
        for uri in self._documents.uris():
            if is_conversation(uri):
                await self._resume_opened(uri)

    def _on_document(self, event: DocumentEvent) -> None:
        if not is_conversation(event.uri):
            return
        if event.kind is DocumentEventKind.OPENED:
            self._spawn(self._resume_opened(event.uri))
        elif event.kind is DocumentEventKind.CLOSED:
            kept = self._kept_at(event.uri)
            if kept is not None:
                self._update(kept)

    async def _resume_opened(self, uri: str) -> None:
        """Resume the session of a document; only the file at the session's own place counts."""
        document = self._documents.get(uri)
        session_id = session_named(document.text) if document else None
        if session_id is None or uri_to_path(uri) != place_of(session_id):
            return
        try:
            session = await self._resume(session_id)
        except Exception as error:
            self._editor.say("warning", f"This conversation cannot go on here: {error}")
            return
        kept = self._keep(session)
        kept.sent_last = ""
        self._update(kept, at_once=True)

    # Writing.

    def _keep(self, session: Session) -> _Kept:
        kept = self._kept.get(session.id)
        if kept is None or kept.session is not session:
            translation = Translation(self._tool_kinds, self._uri_of)
            transcript, place = Transcript(session.id), place_of(session.id)
            kept = self._kept[session.id] = _Kept(session, translation, transcript, place)
        return kept

    def _kept_at(self, uri: str) -> _Kept | None:
        path = uri_to_path(uri)
        return next((one for one in self._kept.values() if one.place == path), None)

    def _take(self, kept: _Kept, stored: e.StoredEvent) -> None:
        if not kept.seq:
            kept.early.append(stored)
        elif stored.seq > kept.seq:
            kept.seq = stored.seq
            if isinstance(stored.event, e.FileRenamed):
                kept.transcript.rename(stored.event.path, stored.event.new_path)
            for update in kept.translation.feed(stored.event):
                kept.transcript.feed(update)

    def _update(self, kept: _Kept, *, at_once: bool = False) -> None:
        """Write a document soon. An editor that asks before edits gets only what must be seen."""
        kept.is_outdated = True
        if at_once and kept.timer is not None:
            kept.timer.cancel()
            kept.timer = None
        is_open = self._documents.at_path(kept.place) is not None
        if is_open and not at_once and self._server.profile.edits == "asks_user":
            return
        self._write_in(kept, 0.0 if at_once else _MERGE_S if is_open else _FILE_MERGE_S)

    def _write_in(self, kept: _Kept, delay_s: float) -> None:
        if kept.timer is None:
            loop = asyncio.get_running_loop()
            kept.timer = loop.call_later(delay_s, self._start_writing, kept)

    def _start_writing(self, kept: _Kept) -> None:
        kept.timer = None
        if kept.writing is not None and not kept.writing.done():
            self._write_in(kept, _MERGE_S)
        elif kept.is_outdated and not kept.session.is_closed:
            kept.writing = asyncio.ensure_future(self._write_or_again(kept))

    async def _write_or_again(self, kept: _Kept) -> None:
        try:
            is_written = await self._write(kept)
        except (OSError, UnicodeDecodeError) as error:
            _log.warning("the conversation could not be written to %s: %s", kept.place, error)
            return
        if not is_written:
            self._write_in(kept, _AGAIN_S)

    async def _write(self, kept: _Kept) -> bool:
        """Write the document once; False when the user's typing came in between.

        Errors: ``OSError`` and ``UnicodeDecodeError`` of the file.
        """
        await self._read_journal(kept)
        self._renew_findings(kept)
        kept.is_outdated = False
        page, sent = kept.transcript.page().text, kept.sent
        opened = self._documents.at_path(kept.place)
        status = "applied"
        if opened is None or self._server.profile.reloads_files:
            await asyncio.to_thread(rewrite, kept.place, page, sent or kept.sent_last)
        else:
            status = await self._edit(opened, merged(opened.text, page, sent))
        if status == "applied" and kept.sent == sent:
            kept.sent = ""
        kept.is_outdated = kept.is_outdated or status == "stale"
        return status != "stale"

    async def _edit(self, opened: Snapshot, wanted: str) -> str:
        """Return the status of the edit, as in ``EditOutcome``."""
        outcome = await self._buffers.change(
            opened.uri,
            version_of(opened.text),
            changes_of(opened.text, wanted),
            "Agent: conversation",
        )
        if outcome.status in ("refused", "unconfirmed"):
            _log.info("the conversation was not edited: %s", outcome.reason)
        return outcome.status

    async def _read_journal(self, kept: _Kept) -> None:
        if kept.seq:
            return
        journal = await kept.session.journal()
        if kept.seq:
            # Another task has read it meanwhile.
            return
        early, kept.early = kept.early, []
        kept.seq = -1
        for stored in [*journal, *early]:
            self._take(kept, stored)
        since, pieces = self._live.get(kept.session.id, (0, []))
        # The journal may hold an answer whose event has not been heard yet.
        if not any(one.seq > since and isinstance(one.event, ENDS_PIECES) for one in journal):
            for piece in pieces:
                kept.transcript.feed(kept.translation.of_ephemeral(piece))

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
