"""Builds everything that handlers work with: the sessions and their presenters in one editor.

Owns only the wiring. Imported late, in a thread, after ``initialize`` was answered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types

from agent_ls.domain.errors import AgentLsError, BugError
from agent_ls.domain.focus import Focus
from agent_ls.lsp import wire
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.options import configuration, without_defaults
from agent_ls.lsp.connection.settings_lock import SettingsLock
from agent_ls.lsp.connection.structuring import error_object
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.conversation.mentions import FileNames, SymbolNames
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.diagnostics.annotation import is_own_source
from agent_ls.lsp.diagnostics.foreign import ForeignDiagnostics, editor_diagnostics
from agent_ls.lsp.diagnostics.instructions import Instructions
from agent_ls.lsp.diagnostics.pending_edits import PendingEdits
from agent_ls.lsp.diagnostics.review_choice import Chooser
from agent_ls.lsp.diagnostics.review_documents import ReviewDocuments
from agent_ls.lsp.diagnostics.reviews import Reviews
from agent_ls.lsp.editor_sessions import EditorSessions
from agent_ls.lsp.presenters.presenters import Presenters
from agent_ls.lsp.proxy.code import CodeBeside
from agent_ls.lsp.proxy.multiplexer import Multiplexer
from agent_ls.lsp.workspace.document_lookup import DocumentLookup
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.focus import focus_of
from agent_ls.lsp.workspace.folders import roots_of
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import LoadedSettings, Settings, load_settings
from agent_ls.workspace.disk import DiskWorkspace

_log = logging.getLogger(__name__)

_REST_S = 60.0


class EditorContext:
    """One editor's side of the agent."""

    def __init__(
        self,
        server: AgentLanguageServer,
        command_line: Mapping[str, Any],
        initial_settings: Mapping[str, Any],
        other: Multiplexer | None = None,
    ) -> None:
        """Build the parts that need no disk; ``open`` does the rest."""
        self.server = server
        self.trust = TrustedFolders(trust_file())
        self.trust_shown: set[Path] = set()
        """Folders of which was shown what trust switches on, where no message can ask."""
        self.loaded = LoadedSettings(Settings(), ())
        self.initial_settings = initial_settings
        """Settings from ``initializationOptions``."""
        self.editor_settings = initial_settings
        """The same, overridden by the editor's configuration."""
        self.foreign_diagnostics = ForeignDiagnostics()
        """Other servers' diagnostics, from the server beside and from clients that opted in."""
        self.pending_edits = PendingEdits(server.documents, self._refresh_marks)
        self.editor = EditorClient(server, self.pending_edits.offer)
        saved = server.protocol.saved_texts
        self.workspace = EditorWorkspace(
            DiskWorkspace(()),
            server.documents,
            self.editor,
            saved,
            folders=lambda: server.protocol.folders,
        )
        self.lookup = DocumentLookup(server.documents, self.workspace)
        self.file_names = FileNames(self.workspace)
        self.symbol_names = SymbolNames(lambda name, limit: self.sessions.definitions(name, limit))
        self.instructions = Instructions(server.documents)
        self.reviews = Reviews(
            server.documents,
            self.workspace,
            lambda: self.presenters.sessions.values(),
            self._show_changes,
            lambda words: self.editor.say("warning", words),
        )
        self.review_documents = ReviewDocuments(server, self.editor)
        self.chooser = Chooser(self.reviews, self.workspace.shown)
        self.presenters = Presenters(
            server,
            self.editor,
            self.lookup,
            self.pending_edits,
            self.reviews,
            self._look_again,
            lambda session_id: self.sessions.resume_listed(session_id),
            self.foreign_diagnostics,
        )
        self.execute: Callable[[types.ExecuteCommandParams], Awaitable[object]]
        """Runs a command as if the client had sent it; set when the handlers are there."""
        self._rest_until_s = 0.0
        self.settings_lock = SettingsLock()
        self.sessions = EditorSessions(
            server,
            self.workspace,
            self.editor,
            self.presenters,
            self.refresh_roots,
            self.settings_lock.work,
            self._show_changes,
            lambda code: (
                code if other is None else CodeBeside(code, other, self.workspace, server.documents)
            ),
        )
        self._tasks: set[asyncio.Task[object]] = set()
        self._command_line = command_line
        self._reloading = asyncio.Lock()
        self.refresh_roots()
        server.documents.listen(self._on_document)
        if other is not None:
            other.diagnostics.listen(self._told_beside)

    def problems_told(self, uri: str, found: Sequence[wire.EditorDiagnostic]) -> None:
        """Take what other servers say of a document now."""
        # Without our own: the agent must not read its own findings as problems.
        self.foreign_diagnostics.replace(
            uri, [one for one in found if not is_own_source(one.source)]
        )
        self._refresh_marks()

    def problems_seen(
        self, uri: str, lines: tuple[int, int], found: Sequence[wire.EditorDiagnostic]
    ) -> None:
        """Take what other servers say of some lines, as a request brought it along."""
        if self.foreign_diagnostics.see(uri, lines, found):
            self._refresh_marks()

    def _told_beside(self, uri: str, found: list[dict[str, Any]]) -> None:
        self.problems_told(uri, editor_diagnostics(found))

    # Settings, folders, trust.

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self.loaded.settings

    def refresh_roots(self) -> None:
        """Update the workspace roots and their trust."""
        folders = self.server.protocol.folders
        # A conversation's folder is none to work in.
        documents = [one for one in self.server.documents.uris() if not is_conversation(one)]
        roots = roots_of(folders, documents, self.trust)
        if roots != self.workspace.roots:
            self.workspace.replace_disk(DiskWorkspace(roots))

    async def use_editor_settings(self, told: Mapping[str, Any]) -> None:
        """Apply the editor's settings; if it sent none, ask for them."""
        found = told or await configuration(self.server)
        self.editor_settings = {**self.initial_settings, **found}
        await self.reload()

    async def open(self) -> None:
        """Load the settings and open the store. Errors are shown, and raised by later requests."""
        # A change of folders may come meanwhile; it must not open the store a second time.
        async with self._reloading:
            found = await configuration(self.server)
            self.editor_settings = {**self.initial_settings, **found}
            self.loaded = await asyncio.to_thread(self._load_settings)
            self._tell_problems()
            self._use_settings()
            await self.sessions.open(self.settings)
        self.spawn(self.presenters.conversations.look())

    async def reload(self, *, is_forced: bool = False) -> None:
        """Load changed settings, or reopen all if forced; a running turn ends first."""
        async with self._reloading:
            loaded = await asyncio.to_thread(self._load_settings)
            if loaded == self.loaded and not is_forced:
                return
            while True:
                # A decision whose request was cancelled goes on, and may wait long for the editor.
                await self.sessions.settled()
                async with self.settings_lock.alone():
                    if self.presenters.is_busy:
                        self.editor.say(
                            "info", "The changed settings take effect after the running turn."
                        )
                        self.presenters.when_idle(partial(self.reload, is_forced=is_forced))
                        return
                    if self.sessions.is_settled:
                        before, self.loaded = self.loaded.problems, loaded
                        self._tell_problems(before)
                        self._use_settings()
                        await self.sessions.reopen(self.settings)
                        break
            # What was asked meanwhile found no sessions.
            self._show_changes()

    def _load_settings(self) -> LoadedSettings:
        return load_settings(
            folders=[root.path for root in self.workspace.roots],
            editor=without_defaults(self.editor_settings),
            command_line=self._command_line,
        )

    def _tell_problems(self, before: tuple[str, ...] = ()) -> None:
        """Show the settings' problems that were not shown before, in one message."""
        problems = [one for one in self.loaded.problems if one not in before]
        if problems:
            # Without the files, whose paths would fill a short message.
            short = "; ".join(one.partition(": ")[2] or one for one in problems)
            text = f"agent-ls settings: {' '.join(problems)}"
            self.editor.say_brief("warning", text, f"Settings: {short}")

    def _use_settings(self) -> None:
        self.workspace.use_save_fallback(self.settings.save_fallback)
        self.instructions.marker = self.settings.marker
        self.presenters.use_settings(self.settings)

    def focus(
        self,
        uri: str | None = None,
        lines: tuple[int, int | None] | None = None,
        *,
        around: int = 0,
        problems: Sequence[wire.EditorDiagnostic] = (),
    ) -> Focus:
        """Return the user's place, see ``focus_of``; ``problems`` came with the request."""
        reported: dict[str, Sequence[wire.EditorDiagnostic]] = {**self.foreign_diagnostics}
        if uri is not None and problems:
            reported[uri] = problems
        return focus_of(self.lookup, reported, uri, lines, around=around)

    def show_rest(self) -> None:
        """Let the code actions be those behind *More…*, for a while."""
        self._rest_until_s = time.monotonic() + _REST_S

    def hide_rest(self) -> None:
        """Let the code actions be the short menu again."""
        self._rest_until_s = 0.0

    def shows_rest(self) -> bool:
        """Say whether the code actions are those behind *More…*."""
        return time.monotonic() < self._rest_until_s

    def spawn(self, work: Coroutine[Any, Any, object], *, is_request: bool = False) -> None:
        """Run work in the background; errors are logged.

        ``is_request``: it counts as part of the current request, so changed settings wait for it.
        """
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if is_request:
            self.settings_lock.enter()
            task.add_done_callback(lambda _: self.settings_lock.leave())

    def spawn_told(self, work: Coroutine[Any, Any, object], what: str) -> None:
        """Run work in the background, and tell the user if it fails; ``what`` names it."""
        self.spawn(self._told(work, what))

    async def _told(self, work: Coroutine[Any, Any, object], what: str) -> None:
        try:
            await work
        except Exception as error:
            self.editor.say_brief("error", f"{what}: {error_object(error, what)['message']}")
            raise

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AgentLsError) and not isinstance(error, BugError):
            _log.warning("something in the background failed: %s", error)
        elif error is not None:
            _log.error("something in the background failed", exc_info=error)

    def _show_changes(self) -> None:
        self.presenters.annotations.look()
        if self.server.profile.lens_refresh:
            self.spawn(self.editor.refresh_lenses())

    def _look_again(self) -> None:
        """Find changes again after other programs changed files or whole folders."""
        paths = [uri_to_path(uri) for uri in self.server.protocol.folders]
        there = [path.is_dir() for path in paths if path is not None]
        if any(there) or not there:
            # A folder that was missing may be back.
            self.refresh_roots()
        self.presenters.annotations.look()

    def _on_document(self, event: DocumentEvent) -> None:
        """Look for open changes when the first document brings the first root.

        List the files when a conversation opens: its first completion shall not wait for that.
        """
        if event.kind is not DocumentEventKind.OPENED:
            return
        if not self.workspace.roots:
            self.spawn(self.review_open_changes())
        elif is_conversation(event.uri):
            self.file_names.renew()

    async def review_open_changes(self) -> None:
        """Show open changes of the stored sessions; for use outside of a request."""
        async with self.settings_lock.work():
            await self.sessions.review_open_changes()

    def _refresh_marks(self) -> None:
        self.presenters.annotations.refresh()

    async def close(self) -> None:
        """Cancel background work, and close the sessions and the store."""
        for task in self._tasks:
            task.cancel()
        self.editor.close()
        self.pending_edits.withdraw()
        await self.sessions.close()
