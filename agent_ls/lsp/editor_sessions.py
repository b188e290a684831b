"""The sessions of one editor: those worked in and those only reviewed.

Finds the session that a request means, and attaches the presenters to every session it opens.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

from agent_ls.assembly import open_sessions
from agent_ls.domain.commands import CommandList
from agent_ls.domain.errors import AgentLsError, SessionHeld
from agent_ls.domain.modes import Mode
from agent_ls.domain.sentences import clause
from agent_ls.domain.symbols import Definition, Symbol
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.uris import uri_to_path
from agent_ls.lsp.conversation_page import place_of
from agent_ls.lsp.presenters.presenters import Presenters
from agent_ls.lsp.workspace.editor import EditorClient
from agent_ls.lsp.workspace.editor_workspace import EditorWorkspace
from agent_ls.session.custom_commands import command_in
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings

_log = logging.getLogger(__name__)

_TITLE_CHARACTERS = 80
_RESUME, _NOT_NOW = "Resume", "Not now"
_OPEN_S: Final = 30.0
"""Opening the store, the sandbox and the model host takes half a second, on a busy machine more."""
_CLOSE_S: Final = 5.0
_STRICTEST_FIRST = list(Mode)


def _has_document(session_id: str) -> bool:
    """Say whether a session has a conversation document, in which words may wait to be sent."""
    return place_of(session_id).exists()


class EditorSessions:
    """The sessions of one editor."""

    def __init__(
        self,
        server: AgentLanguageServer,
        workspace: EditorWorkspace,
        editor: EditorClient,
        presenters: Presenters,
        look: Callable[[], None],
        request: Callable[[], AbstractAsyncContextManager[None]],
        changed: Callable[[], None],
        better_code: Callable[[CodeIntel], CodeIntel],
    ) -> None:
        """``look`` refreshes the workspace roots; ``changed`` is called for new open changes.

        ``request`` is entered around late work, such as after a user's answer, so that the store
        is not reopened meanwhile. ``better_code`` wraps what is known of code.
        """
        self._server, self._workspace, self._editor = server, workspace, editor
        self._presenters = presenters
        self._look, self._request, self._changed = look, request, changed
        self._better_code = better_code
        self._settings = Settings()
        self._opened: Sessions | None = None
        self._problem = "agent-ls is still starting"
        self._reviewed: set[str] = set()
        """Ids of sessions opened for review only; a prompt reaches them only by session id."""
        self._beginning = asyncio.Lock()
        self._reviewing = asyncio.Lock()
        self._following = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    # Opening and closing, with the current settings.

    async def open(self, settings: Settings) -> None:
        """Open the store. An error is shown, and raised again by later requests."""
        self._settings = settings
        try:
            self._opened = await self._within(
                open_sessions(
                    settings,
                    self._workspace,
                    is_attended=True,
                    on_taken=self._on_taken,
                    better_code=self._better_code,
                    tell=lambda words: self._editor.say("warning", words),
                )
            )
            self._presenters.rechecks.use(self._opened.checks)
        except AgentLsError as error:
            self._problem = str(error)
            self._editor.say_brief("error", f"agent-ls cannot work: {error}")

    async def reopen(self, settings: Settings) -> None:
        """Reopen the store under other settings, with the same sessions."""
        open_ids = list(self._presenters.sessions)
        await self.close(is_kept=lambda _session_id: True)
        await self.open(settings)
        for session_id in open_ids if self._opened is not None else ():
            is_reviewed = session_id in self._reviewed
            try:
                session = await self.stored.open(session_id, to_look=is_reviewed)
            except AgentLsError as error:
                # Another agent-ls took it, or it is unreadable; the others are still shown.
                _log.warning("session %s is not shown any more: %s", session_id, error)
                self._reviewed.discard(session_id)
                continue
            self._presenters.attach(session, is_reviewed=is_reviewed)

    async def close(self, is_kept: Callable[[str], bool] = _has_document) -> None:
        """Close the sessions and the store; interrupted turns can be resumed.

        A session in which nobody has said anything is deleted unless ``is_kept``. What takes too
        long goes on in the background, and is logged.
        """
        opened, self._opened = self._opened, None
        self._problem = "agent-ls is stopping"
        self._presenters.detach()
        if opened is None:
            return
        closing = self._kept(opened.close(is_kept=is_kept))
        await asyncio.wait([closing], timeout=_CLOSE_S)
        if not closing.done():
            _log.warning("the sessions did not close within %g s", _CLOSE_S)

    @property
    def is_settled(self) -> bool:
        """Say whether closing waits for no decision that is under way."""
        return self._opened is None or self._opened.is_settled

    async def settled(self) -> None:
        """Wait for the decisions that are under way; one may wait for the user."""
        if self._opened is not None:
            await self._opened.settled()

    async def _within(self, opening: Coroutine[Any, Any, Sessions]) -> Sessions:
        """Return what is opened in time; what comes later is closed again.

        Errors: ``AgentLsError`` when it takes too long, or as of ``open_sessions``.
        """
        task = asyncio.ensure_future(opening)
        done, _ = await asyncio.wait([task], timeout=_OPEN_S)
        if done:
            return task.result()

        async def close() -> None:
            with suppress(AgentLsError):
                await (await task).close()

        self._kept(close())
        raise AgentLsError(
            f"opening its store took longer than {_OPEN_S:g} s. Look at the log and at agent-ls "
            "doctor, then change the settings or restart it."
        )

    def _kept(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work to its end, whoever waits for it; an error is logged."""
        task = asyncio.ensure_future(work)
        self._closing.add(task)
        task.add_done_callback(self._closed)
        return task

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, AgentLsError):
            self._editor.say("warning", str(error))
        elif error is not None:
            _log.error("the sessions did not close in order", exc_info=error)

    @property
    def stored(self) -> Sessions:
        """Return the sessions of the store. Errors: ``AgentLsError`` when it cannot be opened."""
        if self._opened is None:
            raise AgentLsError(self._problem)
        return self._opened

    @property
    def tool_server_states(self) -> Mapping[str, str]:
        """Return how the tool servers are, by name; none before the store is open."""
        source = self._opened.tool_source if self._opened is not None else None
        return source.states if source is not None else {}

    # Working.

    async def definitions(self, name: str, limit: int) -> Sequence[Definition]:
        """Return what is defined under a name or a part of it, best first; none if that fails."""
        try:
            return await self.stored.code.find(name, limit)
        except AgentLsError:
            return ()

    async def symbols(self, path: str, text: str) -> Sequence[Symbol]:
        """Return what a text defines, outermost first; none if nothing parses it."""
        return await self.stored.code.symbols(path, text) or ()

    async def commands(self) -> CommandList:
        """Return the custom commands. Errors: ``AgentLsError`` before the store is open."""
        self._look()
        return await self.stored.custom_commands.listed()

    async def check_command(self, prompt: str) -> None:
        """Raise ``AgentLsError`` for a prompt that calls a command which cannot be used."""
        self._look()
        await command_in(prompt, self.stored.custom_commands)

    async def session(self, session_id: str | None = None) -> Session:
        """Return an open session and show it; without an id the current one, created if needed.

        Errors: ``AgentLsError`` when the session is not open, or no folder or file is.
        """
        self._look()
        if not self._workspace.roots:
            raise AgentLsError("Open a file or a folder first: the agent works on those.")
        if session_id is None:
            # Concurrent first requests must not create two sessions.
            async with self._beginning:
                current = await self._begun() or await self.stored.fresh(mode=self._first_mode())
                return self._presenters.attach(current)
        found = await self.stored.find(session_id)
        if found is None:
            raise AgentLsError(
                f"Session {session_id} is not open here; "
                "resume it with the command agent-ls.session.resume."
            )
        return self._presenters.attach(found)

    async def current(self) -> Session | None:
        """Return the current session; None when no request has needed one yet."""
        self._look()
        return await self._begun()

    async def create(self, mode: Mode | None = None, model: str | None = None) -> Session:
        """Create a session and make it the current one."""
        self._look()
        mode = mode or self._first_mode()
        return self._presenters.attach(await self.stored.create(mode=mode, model=model))

    async def resume(self, session_id: str, *, continue_turn: bool = True) -> Session:
        """Open a stored session and make it the current one."""
        self._look()
        session = await self.stored.open(session_id)
        self._presenters.attach(session, is_current=True)
        self._reviewed.discard(session_id)
        if continue_turn:
            session.resume()
        return session

    async def resume_listed(self, session_id: str) -> Session:
        """Open a session of these folders and make it the current one; no turn continues in it.

        Errors: ``AgentLsError`` when it is another folder's, or cannot be opened.
        """
        async with self._request():
            listed = await self.stored.list(with_empty=True)
            if session_id not in {one.session_id for one in listed}:
                raise AgentLsError(
                    "It belongs to another folder. Open a file of that folder in this editor first."
                )
            return await self.resume(session_id, continue_turn=False)

    async def fork(
        self, session_id: str, turn: str | None = None, *, is_before: bool = False
    ) -> Session:
        """Fork a session after a turn, or before it; the fork becomes the current one."""
        self._look()
        session = await self.stored.fork(session_id, turn=turn, is_before=is_before)
        return self._presenters.attach(session, is_current=True)

    async def delete(self, session_id: str) -> None:
        """Delete a session for good. Errors: as of ``Sessions.delete``."""
        await self.stored.delete(session_id)
        self._reviewed.discard(session_id)
        self._presenters.forget(session_id)
        self._changed()

    async def offer_resuming(self) -> None:
        """Tell the user of the newest interrupted turn, unless they said not now.

        Its session is shown for review, so that code actions resume and decline it. The panel
        shows it by itself. Only where buttons do not take the keyboard away does the message have
        some.
        """
        async with self._request():
            if self._opened is None or not self._workspace.roots:
                return
            try:
                interrupted = await self._opened.interrupted()
                session = await self._review(interrupted[0].session_id) if interrupted else None
            except SessionHeld as error:
                # Another process shows it.
                _log.info("no offer to resume: %s", error)
                return
            except AgentLsError as error:
                # Say it now: otherwise the user learns it only from the first prompt.
                self._editor.say_brief("error", str(error))
                return
        turn = None if session is None else session.state.turn
        if session is None or turn is None or turn.is_declined:
            return
        if self._server.profile.opted_in:
            return
        # Without a stop: some editors put a colon behind the message.
        title = clause(turn.prompt.strip().partition("\n")[0][:_TITLE_CHARACTERS])
        if self._server.profile.buttons_wait and self._editor.asks_choices:
            words = f"The agent was cut off in: {title}"
            chosen = await self._editor.choose(words, [_RESUME, _NOT_NOW])
            try:
                async with self._request():
                    if chosen == _RESUME:
                        await self.resume(session.id)
                    elif chosen == _NOT_NOW:
                        await session.decline()
            except AgentLsError as error:
                self._editor.say_brief("error", str(error))
            return
        # The command first: some editors cut a message at the end of their line.
        how = "With agent-ls.session.resume the agent goes on where it was cut off in"
        short = f"The agent was cut off in: {title}. Resume, or not now?"
        self._editor.say_brief("info", f"{how}: {title}.", short)

    async def _begun(self) -> Session | None:
        shown = self._presenters.sessions.values()
        meant = [one.id for one in shown if one.id not in self._reviewed]
        return await self.stored.find(meant[-1]) if meant else None

    def _first_mode(self) -> Mode | None:
        """Return the mode of a new session; None: the settings' mode."""
        if self._server.protocol.folders:
            return None
        # Without a folder nobody has allowed anything here: be at least as strict as ASK.
        return Mode(min(self._settings.mode, Mode.ASK, key=_STRICTEST_FIRST.index))

    # Reviewing.

    async def review(self, *, is_listed: bool = False) -> None:
        """Open what can be reviewed: the newest session with open changes, and if no session is in
        use the newest of all.

        Errors: ``AgentLsError`` when that fails and nothing else is open. With ``is_listed``, a
        session held by another process is no error.
        """
        await self.review_open_changes()
        if not self._workspace.roots or self._presenters.sessions.keys() - self._reviewed:
            return
        newest = next((one for one in await self.stored.list() if one.turns), None)
        if newest is not None and newest.session_id not in self._presenters.sessions:
            try:
                await self._review(newest.session_id)
            except AgentLsError as error:
                is_others = is_listed and isinstance(error, SessionHeld)
                if not self._presenters.sessions and not is_others:
                    raise

    async def review_open_changes(self) -> None:
        """Open the newest free session with open changes for review, unless one is already open.

        No turn continues in it.
        """
        async with self._reviewing:
            self._look()
            if self._opened is None or not self._workspace.roots:
                return
            shown = self._presenters.sessions.values()
            if any(one.id in self._reviewed and not one.is_closed for one in shown):
                return
            try:
                found = await self._opened.to_review()
                if found is not None:
                    await self._review(found.session_id)
            except AgentLsError as error:
                # Another process has just opened it, or it is unreadable; the user did not ask.
                _log.info("no changes to review: %s", error)

    async def follow_renamed(self, uris: Sequence[tuple[str, str]]) -> None:
        """Update the reviews of open sessions after files or folders were renamed."""
        # In order: a rename may build on the one before.
        async with self._following:
            self._look()
            workspace = self._workspace
            for renamed in uris:
                paths = [one.resolve() for uri in renamed if (one := uri_to_path(uri)) is not None]
                names = [shown for one in paths if (shown := workspace.shown(one)) is not None]
                if len(names) != len(renamed) or workspace.is_own_move(*paths):
                    continue
                for session in list(self._presenters.sessions.values()):
                    try:
                        await session.review.follow(*names)
                    except AgentLsError as error:
                        _log.warning("%s does not follow %s: %s", session.id, names[0], error)

    async def renames_followed(self) -> None:
        """Wait for the renames that are being followed: an answer is about the new names."""
        async with self._following:
            pass

    async def _review(self, session_id: str) -> Session:
        session = await self.stored.open(session_id, to_look=True)
        if self._presenters.sessions.get(session_id) is session:
            # A request has just started using it.
            return session
        self._reviewed.add(session_id)
        self._presenters.attach(session, is_reviewed=True)
        self._changed()
        return session

    def _on_taken(self, session_id: str) -> None:
        """Stop showing a reviewed session that another process has continued."""
        if session_id in self._reviewed:
            self._reviewed.discard(session_id)
            self._presenters.forget(session_id)
            self._changed()
