"""What one editor shows of its sessions: annotations, progress, notices and updates.

Owns which sessions are open here, and attaches the readers to each.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from lsprotocol import types

from agent_ls import catalogue
from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolKind
from agent_ls.domain.findings import Severity
from agent_ls.edits.notebooks import is_notebook
from agent_ls.loop.ports.event_listener import EventListener
from agent_ls.loop.state.state import SessionState
from agent_ls.lsp import wire
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.conversation.conversations import Conversations
from agent_ls.lsp.diagnostics.annotation import Annotation
from agent_ls.lsp.diagnostics.annotation_set import AnnotationSet
from agent_ls.lsp.diagnostics.change_hints import ChangeHints
from agent_ls.lsp.diagnostics.foreign import ForeignDiagnostics
from agent_ls.lsp.diagnostics.pending_edits import PendingEdits
from agent_ls.lsp.diagnostics.rechecks import Rechecks
from agent_ls.lsp.diagnostics.reviews import Reviews
from agent_ls.lsp.diagnostics.shapes import diagnostic_of
from agent_ls.lsp.presenters.notices import Notices
from agent_ls.lsp.presenters.progress import Limits, TurnProgress
from agent_ls.lsp.presenters.publisher import Publisher, droppable_size, joined
from agent_ls.lsp.workspace.closed_files import ClosedFiles
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.observers.unpriced import UnpricedBudget
from agent_ls.session.session import Session
from agent_ls.settings import Settings, chosen_budget_usd

_COLLECT_AFTER_S = 1.0
"""Full garbage collections are put off during turns (see ``server``); one runs this long after a
turn or the closing of sessions, whose parts refer to each other."""


class Presenters:
    """The readers of one editor's sessions; one itself."""

    def __init__(
        self,
        server: AgentLanguageServer,
        editor: EditorClient,
        lookup: DocumentLookup,
        pending_edits: PendingEdits,
        reviews: Reviews,
        outdated: Callable[[], None],
        resume: Callable[[str], Awaitable[Session]],
        foreign: ForeignDiagnostics,
    ) -> None:
        """``outdated`` is called when closed files changed and the annotations must be found again;
        ``resume`` opens the session of a conversation document.
        """
        self._server = server
        self._foreign = foreign
        self._lookup = lookup
        self.sessions: dict[str, Session] = {}
        """The open sessions by id; the last is the current one."""
        self._pending_edits = pending_edits
        self._reviews = reviews
        files = ClosedFiles(lookup.closed_places)
        self._hints = ChangeHints(
            reviews,
            server.documents,
            lookup,
            files,
            lambda: server.protocol.folders,
            outdated,
        )
        self.rechecks = Rechecks(self.states, lookup.newest, files, self._refresh_findings)
        self.annotations = AnnotationSet(
            lookup,
            self.states,
            self._publish_marks,
            self.rechecks.of,
            pending_edits.all,
            self._hints,
            foreign.hides,
        )
        has_panel = server.profile.opted_in
        self.progress = TurnProgress(
            editor.create_progress, self._send_progress, Limits(), has_panel=has_panel
        )
        self.conversations = Conversations(
            server, editor, _tool_kinds(), lookup.uri, self.sessions, resume, self.rechecks.of
        )
        self.notices = Notices(
            editor.say,
            self.annotations.is_shown,
            None if has_panel else server.profile.message_characters,
            lambda path: not editor.follows_disk and lookup.open_uri(path) is not None,
        )
        self._unpriced = UnpricedBudget(lambda words: editor.say("warning", words))
        self.publisher: Publisher | None = None
        if has_panel:
            self.publisher = Publisher(self._send_updates, _tool_kinds(), lookup.uri)
        server.documents.listen(self._on_document)
        self._editor = editor
        self._is_refreshing = False
        """A refresh of pulled diagnostics is about to be sent."""
        self._places: dict[str, set[str]] = {}
        """By URI of a notebook, the cells that its annotations were sent for."""
        self._idle: list[Callable[[], Awaitable[object]]] = []
        self._collecting: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Future[object]] = set()

    def states(self) -> Iterator[SessionState]:
        """Yield the state of every open session."""
        for session in self.sessions.values():
            yield session.state

    def attach(
        self, session: Session, *, is_current: bool = False, is_reviewed: bool = False
    ) -> Session:
        """Show a session from now on; one that is shown already only moves.

        A session only for review goes before newer ones, so that it is not the current one. Its
        interrupted turn is not shown as running.
        """
        for one in [one for one in self.sessions.values() if one.is_closed]:
            del self.sessions[one.id]
            self._collect_soon()
        is_known = session.id in self.sessions
        if is_known and is_current:
            del self.sessions[session.id]
        if not is_known:
            for reader in self._readers():
                session.follow(reader)
            # Last: the other readers must see the end of a turn first.
            session.follow(self)
            self.notices.begin(session.state)
            self.progress.begin(session.state, is_cut_off=session.is_cut_off)
            if not is_reviewed:
                self.conversations.begin(session)
            if self.publisher is not None:
                self.publisher.begin(session.state, session.stored)
        others = list(self.sessions) if is_reviewed and not is_known else []
        self.sessions[session.id] = session
        # It goes before the first that is newer. The others keep their order: the last of those
        # that are not only reviewed is the current one.
        newer = next((at for at, one in enumerate(others) if one > session.id), len(others))
        for later in others[newer:]:
            self.sessions[later] = self.sessions.pop(later)
        self.annotations.refresh()
        if not is_known:
            self.annotations.look()
            # The findings of its turns may be outdated.
            self.rechecks.look_soon()
        return session

    def forget(self, session_id: str) -> None:
        """Stop showing a session."""
        if self.sessions.pop(session_id, None) is not None:
            self.annotations.refresh()

    def detach(self) -> None:
        """Stop showing all sessions and remove their annotations."""
        self.rechecks.use(None)
        self._hints.close()
        self.sessions.clear()
        self.annotations.refresh()
        self._collect_soon()

    def use_settings(self, settings: Settings) -> None:
        """Apply the settings of the presenters."""
        self._foreign.shown = settings.findings
        self.notices.told = settings.notices
        self._hints.is_on = settings.change_hints == "always" or (
            settings.change_hints == "auto" and not self._server.profile.draws_lenses
        )
        self._unpriced.limit_usd = chosen_budget_usd(settings)
        policies: dict[str, Any] = settings.model_dump()["policies"]
        self.progress.use_limits(
            Limits(
                steps=policies["step_limit"]["max_steps"],
                tokens=policies["budget"]["max_tokens"],
                cost_usd=policies["budget"]["max_cost_usd"],
            )
        )

    def when_idle(self, do: Callable[[], Awaitable[object]]) -> None:
        """Call ``do`` once, when no turn runs any more."""
        if do not in self._idle:
            self._idle.append(do)

    @property
    def is_busy(self) -> bool:
        """Say whether a turn runs, or a queued prompt is about to start one."""
        return any(one.is_busy and not one.is_cut_off for one in self.sessions.values())

    def on_event(self, stored: e.StoredEvent) -> None:
        """Notice the end of a turn."""
        if isinstance(stored.event, e.TurnEnded):
            asyncio.get_running_loop().call_soon(self._on_turn_ended)

    def on_ephemeral(self, session_id: str, piece: e.Ephemeral) -> None:
        """Ignore streamed pieces."""

    def _on_turn_ended(self) -> None:
        """If no turn runs, withdraw pending edits and run the callbacks of ``when_idle``."""
        self._collect_soon()
        if self.is_busy:
            return
        self._pending_edits.withdraw()
        waiting, self._idle = self._idle, []
        for do in waiting:
            self._go_on(do())

    def _collect_soon(self) -> None:
        if self._collecting is None:
            loop = asyncio.get_running_loop()
            self._collecting = loop.call_later(_COLLECT_AFTER_S, self._collect)

    def _collect(self) -> None:
        self._collecting = None
        gc.collect()

    def _go_on(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _readers(self) -> list[EventListener]:
        # Marks first: notices ask them whether a question is shown.
        shown: tuple[EventListener, ...] = (self.annotations, self.progress, self.notices)
        others: tuple[EventListener, ...] = (self._reviews, self.rechecks, self._unpriced)
        others = (*others, self.conversations)
        return [*shown, *others, *((self.publisher,) if self.publisher else ())]

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """Return the annotations of a document as diagnostics, in the order they are drawn."""
        if (notebook := self._server.protocol.notebooks.of_cell(uri)) is not None:
            return self._by_cell(notebook, self.annotations.in_document(notebook)).get(uri, [])
        return self._as_diagnostics(self.annotations.in_document(uri))

    def _by_cell(
        self, uri: str, annotations: list[Annotation]
    ) -> dict[str, list[types.Diagnostic]]:
        """Return the annotations of an open notebook as diagnostics by cell; else nothing."""
        notebooks = self._server.protocol.notebooks
        if not notebooks.cells_of(uri):
            return {}
        found = self._as_diagnostics(annotations)
        cells = {cell: list[types.Diagnostic]() for cell in notebooks.cells_of(uri)}
        for one, (cell, where) in zip(
            found, notebooks.cell_ranges(uri, [one.range for one in found]), strict=True
        ):
            one.range = where
            cells.setdefault(cell, []).append(one)
        return cells

    def _as_diagnostics(self, annotations: list[Annotation]) -> list[types.Diagnostic]:
        encoding = self._server.documents.encoding
        # Of two signs on a line an editor draws the later one: a problem must cover a hint.
        by_weight = sorted(annotations, key=lambda one: one.severity is not Severity.HINT)
        return [diagnostic_of(one, encoding) for one in by_weight]

    def _publish_marks(self, uri: str, annotations: list[Annotation]) -> None:
        """Send a document's annotations, or tell a client that pulls them to ask again."""
        profile = self._server.profile
        if profile.pulls_diagnostics:
            if profile.diagnostic_refresh and not self._is_refreshing:
                self._is_refreshing = True
                # Later: one refresh serves all documents whose annotations change now.
                asyncio.get_running_loop().call_soon(self._refresh_pulled)
            return
        by_uri = self._by_cell(uri, annotations) or {uri: self._as_diagnostics(annotations)}
        for gone in self._places.pop(uri, set()) - by_uri.keys():
            by_uri[gone] = []
        if by_uri.keys() != {uri}:
            self._places[uri] = set(by_uri)
        for place, found in by_uri.items():
            self._notify("textDocument/publishDiagnostics", {"uri": place, "diagnostics": found})

    def _refresh_pulled(self) -> None:
        self._is_refreshing = False
        self._go_on(self._editor.refresh_diagnostics())

    def _on_document(self, event: DocumentEvent) -> None:
        if not self.sessions:
            return
        self.annotations.on_document()
        is_shown_anew = event.kind in (DocumentEventKind.OPENED, DocumentEventKind.CLOSED)
        if is_shown_anew and is_notebook(event.uri):
            # Its cells are documents of their own: the annotations move to them, or back.
            self._publish_marks(event.uri, self.annotations.in_document(event.uri))
        self.rechecks.on_document(event)

    def _refresh_findings(self) -> None:
        self.annotations.refresh()
        self.conversations.renew_findings()

    def _send_updates(self, params: wire.UpdateParams) -> None:
        size = droppable_size(params)
        if size is None:
            self._notify("agent/update", params)
        else:
            key = ("agent/update", params.session_id)
            self._server.protocol.notify_droppable(
                "agent/update", params, key=key, size=size, merge=joined
            )

    def _send_progress(self, method: str, params: dict[str, Any]) -> None:
        """Send a begin or end reliably; a report may be dropped if the client is slow."""
        if params["value"]["kind"] != "report":
            self._notify(method, params)
            return
        key = (method, params["token"])
        size = len(params["value"]["message"])
        self._server.protocol.notify_droppable(
            method, params, key=key, size=size, merge=lambda _, newer: newer
        )

    def _notify(self, method: str, params: object) -> None:
        self._server.protocol.notify(method, params)


def _tool_kinds() -> dict[str, ToolKind]:
    return {tool.name: tool.kind for tool in catalogue.TOOLS}
