"""What handlers work with, once everything is loaded: the sessions and their faces in one editor.

Owns the joining only. Imported late, on a thread, after ``initialize`` was answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from agent_ls.domain.focus import Focus
from agent_ls.lsp import wire
from agent_ls.lsp.connection.changeover import Changeover
from agent_ls.lsp.connection.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.options import configuration, without_defaults
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.editor_sessions import EditorSessions
from agent_ls.lsp.faces.faces import Faces
from agent_ls.lsp.marks.instructions import Instructions
from agent_ls.lsp.marks.pending_edits import PendingEdits
from agent_ls.lsp.marks.review_choice import Chooser
from agent_ls.lsp.marks.review_documents import ReviewDocuments
from agent_ls.lsp.marks.reviews import Reviews
from agent_ls.lsp.workspace.attention import Attention
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.lsp.workspace.focus import focus_of
from agent_ls.lsp.workspace.folders import roots_of
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.settings import LoadedSettings, Settings, load_settings
from agent_ls.workspace.disk import DiskWorkspace

_log = logging.getLogger(__name__)


class Edge:
    """One editor's side of the agent."""

    def __init__(
        self,
        server: AgentLanguageServer,
        command_line: Mapping[str, Any],
        initial_settings: Mapping[str, Any],
    ) -> None:
        """Join the parts that need no disk; ``open`` does the rest."""
        self.server = server
        self.trust = TrustedFolders(trust_file())
        self.loaded = LoadedSettings(Settings(), ())
        self.initial_settings = initial_settings
        """What ``initializationOptions`` set."""
        self.editor_settings = initial_settings
        """The same, and what the editor's configuration says over it."""
        self.foreign_diagnostics: dict[str, list[wire.EditorDiagnostic]] = {}
        """What a client that opted in says other servers found, by URI."""
        self.pending_edits = PendingEdits(server.documents, self._refresh_marks)
        self.editor = EditorClient(server, self.pending_edits.offer)
        saved = server.protocol.saved_texts
        self.workspace = EditorWorkspace(DiskWorkspace(()), server.documents, self.editor, saved)
        self.attention = Attention(server.documents, self.workspace)
        self.instructions = Instructions(server.documents)
        self.reviews = Reviews(
            server.documents,
            self.workspace,
            lambda: self.faces.sessions.values(),
            self._show_changes,
            lambda words: self.editor.say("warning", words),
        )
        self.review_documents = ReviewDocuments(server, self.editor)
        self.chooser = Chooser(self.reviews, self.workspace.shown)
        self.faces = Faces(
            server,
            self.editor,
            self.attention,
            self.pending_edits,
            self.reviews,
            self._look_again,
        )
        self.changeover = Changeover()
        self.sessions = EditorSessions(
            server,
            self.workspace,
            self.editor,
            self.faces,
            self.refresh_roots,
            self.changeover.request,
            self._show_changes,
        )
        self._tasks: set[asyncio.Task[object]] = set()
        self._command_line = command_line
        self._reloading = asyncio.Lock()
        self.refresh_roots()
        server.documents.listen(self._on_document)

    # Settings, folders, trust.

    @property
    def settings(self) -> Settings:
        """Return the settings that hold."""
        return self.loaded.settings

    def refresh_roots(self) -> None:
        """Look again at which folders there are and which of them are trusted."""
        folders, documents = self.server.protocol.folders, self.server.documents.uris()
        roots = roots_of(folders, documents, self.trust)
        if roots != self.workspace.roots:
            self.workspace.replace_disk(DiskWorkspace(roots))

    async def use_editor_settings(self, told: Mapping[str, Any]) -> None:
        """Take over what the editor says of its settings; it is asked where it says nothing."""
        found = told or await configuration(self.server)
        self.editor_settings = {**self.initial_settings, **found}
        await self.reload()

    async def open(self) -> None:
        """Load the settings and open the store; what fails is told, and kept for later requests."""
        found = await configuration(self.server)
        self.editor_settings = {**self.initial_settings, **found}
        self.loaded = await asyncio.to_thread(self._load_settings)
        self._tell_problems()
        self._use_settings()
        await self.sessions.open(self.settings)

    async def reload(self) -> None:
        """Take settings over that may have changed, unless a turn runs, which keeps its own."""
        async with self._reloading:
            loaded = await asyncio.to_thread(self._load_settings)
            if loaded == self.loaded:
                return
            async with self.changeover.alone():
                if self.faces.is_busy:
                    self.editor.say("info", "The changed settings hold after the running turn.")
                    self.faces.when_idle(self.reload)
                    return
                before, self.loaded = self.loaded.problems, loaded
                self._tell_problems(before)
                self._use_settings()
                await self.sessions.reopen(self.settings)

    def _load_settings(self) -> LoadedSettings:
        return load_settings(
            folders=[root.path for root in self.workspace.roots],
            editor=without_defaults(self.editor_settings),
            command_line=self._command_line,
        )

    def _tell_problems(self, before: tuple[str, ...] = ()) -> None:
        """Say in one message what of the settings could not be used and was not said before."""
        problems = [one for one in self.loaded.problems if one not in before]
        if problems:
            self.editor.say("warning", "agent-ls settings: " + " ".join(problems))

    def _use_settings(self) -> None:
        self.workspace.use_save_fallback(self.settings.save_fallback)
        self.instructions.marker = self.settings.marker
        self.faces.use_settings(self.settings)

    def focus(
        self,
        uri: str | None = None,
        lines: tuple[int, int | None] | None = None,
        *,
        around: int = 0,
        problems: Sequence[wire.EditorDiagnostic] = (),
    ) -> Focus:
        """Return where the person is, as ``focus_of``; ``problems`` were told with the place."""
        reported: dict[str, Sequence[wire.EditorDiagnostic]] = {**self.foreign_diagnostics}
        if uri is not None and problems:
            reported[uri] = problems
        return focus_of(self.attention, reported, uri, lines, around=around)

    def spawn(self, work: Coroutine[Any, Any, object], *, is_request: bool = False) -> None:
        """Run something that nobody waits for; its errors are logged.

        ``is_request``: it belongs to the request that begins it, and settings wait for it too.
        """
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if is_request:
            self.changeover.enter()
            task.add_done_callback(lambda _: self.changeover.leave())

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("something in the background failed", exc_info=error)

    def _show_changes(self) -> None:
        self.faces.marks.look()
        if self.server.profile.lens_refresh:
            self.spawn(self.editor.refresh_lenses())

    def _look_again(self) -> None:
        """See where changes are after others did something to files, or to whole folders."""
        paths = [uri_to_path(uri) for uri in self.server.protocol.folders]
        there = [path.is_dir() for path in paths if path is not None]
        if any(there) or not there:
            # Perhaps one is back that was gone when somebody looked which folders there are.
            self.refresh_roots()
        self.faces.marks.look()

    def _on_document(self, event: DocumentEvent) -> None:
        """Look for open changes where the first document tells which folder it is about."""
        if event.kind is DocumentEventKind.OPENED and not self.workspace.roots:
            self.spawn(self.review_open_changes())

    async def review_open_changes(self) -> None:
        """Show what there is to review, outside of any request."""
        async with self.changeover.request():
            await self.sessions.review_open_changes()

    def _refresh_marks(self) -> None:
        self.faces.marks.refresh()

    async def close(self) -> None:
        """End what runs and close the store."""
        for task in self._tasks:
            task.cancel()
        self.editor.close()
        await self.sessions.close()
