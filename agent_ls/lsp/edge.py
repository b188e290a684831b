"""What handlers work with, once everything is loaded: the sessions and their faces in one editor.

Owns the joining only. Imported late, on a thread, after ``initialize`` was answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from agent_ls.assembly import open_sessions
from agent_ls.domain.errors import AgentLsError, SessionHeld
from agent_ls.domain.modes import Mode
from agent_ls.lsp import wire
from agent_ls.lsp.attention import Attention
from agent_ls.lsp.documents import DocumentEvent, DocumentEventKind
from agent_ls.lsp.editor import EditorClient
from agent_ls.lsp.editor_workspace import EditorWorkspace
from agent_ls.lsp.faces import Faces
from agent_ls.lsp.folders import roots_of
from agent_ls.lsp.instructions import Instructions
from agent_ls.lsp.language_server import AgentLanguageServer
from agent_ls.lsp.options import without_defaults
from agent_ls.lsp.pending_edits import PendingEdits
from agent_ls.lsp.review_choice import Chooser
from agent_ls.lsp.review_documents import ReviewDocuments
from agent_ls.lsp.reviews import Reviews
from agent_ls.lsp.uris import uri_to_path
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import LoadedSettings, Settings, load_settings
from agent_ls.workspace.disk import DiskWorkspace

_log = logging.getLogger(__name__)

_STRICTEST_FIRST = list(Mode)


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
        self._tasks: set[asyncio.Task[object]] = set()
        self._command_line = command_line
        self._sessions: Sessions | None = None
        self._reviewed: set[str] = set()
        """Opened for their changes: no prompt goes there of itself."""
        self._problem = "agent-ls is still starting"
        self._reloading = asyncio.Lock()
        self._beginning = asyncio.Lock()
        self._reviewing = asyncio.Lock()
        self._following = asyncio.Lock()
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

    async def open(self) -> None:
        """Load the settings and open the store; what fails is told, and kept for later requests."""
        self.loaded = await asyncio.to_thread(self._load_settings)
        self._tell_problems()
        await self._open_sessions()
        self.faces.use_settings(self.settings)

    async def reload(self) -> None:
        """Take settings over that may have changed, unless a turn runs, which keeps its own."""
        async with self._reloading:
            loaded = await asyncio.to_thread(self._load_settings)
            if loaded == self.loaded:
                return
            if self.faces.is_busy:
                self.editor.say("info", "The changed settings hold after the running turn.")
                self.faces.when_idle(self.reload)
                return
            before, self.loaded = self.loaded.problems, loaded
            self._tell_problems(before)
            open_ids = list(self.faces.sessions)
            await self._close_sessions()
            await self._open_sessions()
            self.faces.use_settings(self.settings)
            for session_id in open_ids if self._sessions is not None else ():
                is_reviewed = session_id in self._reviewed
                try:
                    session = await self.sessions.open(session_id, to_look=is_reviewed)
                except AgentLsError as error:
                    # Another agent-ls was faster, or it cannot be read; the others are shown.
                    _log.warning("session %s is not shown any more: %s", session_id, error)
                    self._reviewed.discard(session_id)
                    continue
                self.faces.attach(session, is_reviewed=is_reviewed)

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

    async def _open_sessions(self) -> None:
        self.workspace.use_save_fallback(self.settings.save_fallback)
        self.instructions.marker = self.settings.marker
        try:
            self._sessions = await open_sessions(
                self.settings, self.workspace, is_attended=True, on_taken=self._on_taken
            )
            self.faces.rechecks.use(self._sessions.checks)
        except AgentLsError as error:
            self._problem = str(error)
            self.editor.say("error", f"agent-ls cannot work: {error}")

    # Sessions.

    @property
    def sessions(self) -> Sessions:
        """Return the sessions. Errors: ``AgentLsError`` when they could not be opened."""
        if self._sessions is None:
            raise AgentLsError(self._problem)
        return self._sessions

    async def session(self, session_id: str | None = None) -> Session:
        """Return an open session, the current one when no id is given, with its faces.

        Errors: ``AgentLsError`` when it is not open, or there is nothing to work on.
        """
        await self._settled()
        if not self.workspace.roots:
            raise AgentLsError("Open a file or a folder first: the agent works on those.")
        if session_id is None:
            return await self._current()
        found = await self.sessions.find(session_id)
        if found is None:
            raise AgentLsError(
                f"Session {session_id} is not open here; "
                "resume it with the command agent-ls.session.resume."
            )
        return self.faces.attach(found)

    async def _current(self) -> Session:
        """Return the current session; the first request for one brings it, and others wait."""
        async with self._beginning:
            current = await self._begun() or await self.sessions.fresh(mode=self._first_mode())
            return self.faces.attach(current)

    async def current(self) -> Session | None:
        """Return the current session; None: nothing has asked for one yet."""
        await self._settled()
        return await self._begun()

    async def _begun(self) -> Session | None:
        shown = self.faces.sessions.values()
        meant = [one.id for one in shown if one.id not in self._reviewed]
        return await self.sessions.find(meant[-1]) if meant else None

    async def create(self, mode: Mode | None = None, model: str | None = None) -> Session:
        """Begin another session, which becomes the current one."""
        await self._settled()
        mode = mode or self._first_mode()
        return self.faces.attach(await self.sessions.create(mode=mode, model=model))

    def _first_mode(self) -> Mode | None:
        """Return the mode of a new session; None: what the settings say."""
        if self.server.protocol.folders:
            return None
        # Without a folder nobody has said what the agent may do here.
        return Mode(min(self.settings.mode, Mode.ASK, key=_STRICTEST_FIRST.index))

    async def resume(self, session_id: str, *, continue_turn: bool = True) -> Session:
        """Open a stored session, which becomes the current one."""
        await self._settled()
        session = await self.sessions.open(session_id)
        was_reviewed = session_id in self._reviewed and session in self.faces.sessions.values()
        self.faces.attach(session, is_current=True)
        self._reviewed.discard(session_id)
        if was_reviewed:
            self.faces.progress.begin(session.state)
        if continue_turn:
            session.resume()
        return session

    async def fork(self, session_id: str, turn: str | None = None) -> Session:
        """Branch a session off after a turn; the branch becomes the current one."""
        await self._settled()
        session = await self.sessions.fork(session_id, turn=turn)
        return self.faces.attach(session, is_current=True)

    async def review_session(self, *, is_listed: bool = False) -> None:
        """See to it that what can be reviewed is open: the newest session with open changes, and
        where nothing is in use the newest of all.

        Errors: ``AgentLsError`` when that cannot be opened and nothing else is open; where changes
        are only listed, another process's session is none that could be.
        """
        await self.review_open_changes()
        if not self.workspace.roots or self.faces.sessions.keys() - self._reviewed:
            return
        newest = next((one for one in await self.sessions.list() if one.turns), None)
        if newest is not None and newest.session_id not in self.faces.sessions:
            try:
                await self._review(newest.session_id)
            except AgentLsError as error:
                is_others = is_listed and isinstance(error, SessionHeld)
                if not self.faces.sessions and not is_others:
                    raise

    async def review_open_changes(self) -> None:
        """Open the newest session with open changes that nobody has open, unless one is; nothing
        goes on in it.
        """
        async with self._reviewing:
            await self._settled()
            if self._sessions is None or not self.workspace.roots:
                return
            shown = self.faces.sessions.values()
            if any(one.id in self._reviewed and not one.is_closed for one in shown):
                return
            try:
                found = await self._sessions.to_review()
                if found is not None:
                    await self._review(found.session_id)
            except AgentLsError as error:
                # Somebody else has just opened it, or it cannot be read; nobody has asked for it.
                _log.info("no changes to review: %s", error)

    async def _review(self, session_id: str) -> None:
        session = await self.sessions.open(session_id, to_look=True)
        if self.faces.sessions.get(session_id) is session:
            # Somebody has just begun to use it.
            return
        self._reviewed.add(session_id)
        self.faces.attach(session, is_reviewed=True)
        self._show_changes()

    async def follow_renamed(self, uris: Sequence[tuple[str, str]]) -> None:
        """Let the reviews of the open sessions follow files and folders that were renamed."""
        # One after the other: the next may be of what one before has made.
        async with self._following:
            # While other settings are taken over no session is open.
            await self._settled()
            for renamed in uris:
                paths = [one.resolve() for uri in renamed if (one := uri_to_path(uri)) is not None]
                names = [shown for one in paths if (shown := self.workspace.shown(one)) is not None]
                if len(names) != len(renamed) or self.workspace.is_own_move(*paths):
                    continue
                for session in list(self.faces.sessions.values()):
                    try:
                        await session.review.follow(*names)
                    except AgentLsError as error:
                        _log.warning("%s does not follow %s: %s", session.id, names[0], error)

    def _on_taken(self, session_id: str) -> None:
        """Show no changes any more of a session with which another process went on."""
        if session_id in self._reviewed:
            self._reviewed.discard(session_id)
            self.faces.forget(session_id)
            self._show_changes()

    async def _settled(self) -> None:
        """Wait until no other settings are being taken over, and look which folders there are."""
        async with self._reloading:
            self.refresh_roots()

    async def offer_resuming(self) -> None:
        """Tell the person of a turn that was cut off, and resume it where they say so."""
        if self._sessions is None or not self.workspace.roots:
            return
        interrupted = await self._sessions.interrupted()
        if not interrupted:
            return
        first = interrupted[0]
        words = f"The agent was cut off in: {first.title or first.session_id}."
        if self.server.profile.message_requests:
            chosen = await self.editor.choose(words, ["Resume", "Not now"], timeout_s=600)
            if chosen == "Resume":
                await self.resume(first.session_id)
        else:
            self.editor.say("info", f"{words} Go on with the command agent-ls.session.resume.")

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Let something go on that nobody waits for; what breaks it is logged."""
        task: asyncio.Task[object] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

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

    def _refresh_marks(self) -> None:
        self.faces.marks.refresh()

    async def close(self) -> None:
        """End what runs and close the store."""
        for task in self._tasks:
            task.cancel()
        self.editor.close()
        self.workspace.close()
        await self._close_sessions()

    async def _close_sessions(self) -> None:
        sessions, self._sessions = self._sessions, None
        self._problem = "agent-ls is stopping"
        self.faces.detach()
        if sessions is not None:
            await sessions.close()
