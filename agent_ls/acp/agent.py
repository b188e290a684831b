"""What a client may ask: sessions, prompts, modes. The package routes the requests here."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, Client, RequestError
from acp.schema import (
    AgentCapabilities,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    ClientCapabilities,
    CloseSessionResponse,
    FileSystemCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    UnstructuredCommandInput,
)

from agent_ls import __version__, catalogue
from agent_ls.acp.conversation import Conversation
from agent_ls.acp.editor_files import EditorFiles
from agent_ls.acp.prompt_blocks import Block
from agent_ls.acp.tool_servers import ToolServer, settings_of
from agent_ls.assembly import open_sessions
from agent_ls.domain.errors import AgentLsError, SettingsError, StoreError
from agent_ls.domain.modes import Mode
from agent_ls.loop.ports.workspace import Root
from agent_ls.safety.trust import TrustedFolders, trust_file
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions
from agent_ls.settings import Settings, load_settings

_log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

_MODES: Final[Mapping[Mode, tuple[str, str]]] = {
    Mode.PLAN: ("Plan", "Read and propose; change nothing"),
    Mode.ASK_ALL: ("Ask all", "Ask before everything, reads too"),
    Mode.ASK: ("Ask", "Ask before edits and commands"),
    Mode.ACCEPT_EDITS: ("Accept edits", "Edit unasked; ask before commands that change something"),
    Mode.AUTO: ("Auto", "Ask only before what always asks"),
}
_MAX_LISTED: Final = 200
_INVALID_PARAMS: Final = -32602
_NO_MODEL: Final = (
    'No model is set. Write `model = "…"` into the configuration (`agent-ls doctor` says where), '
    "or set AGENT_LS_MODEL and the provider's key in the environment of this agent's entry in the "
    "editor's settings."
)


def _in_words(
    handle: Callable[Concatenate[Agent, P], Awaitable[R]],
) -> Callable[Concatenate[Agent, P], Awaitable[R]]:
    """Answer our own errors with their words, which clients show."""

    @functools.wraps(handle)
    async def handled(self: Agent, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await handle(self, *args, **kwargs)
        except AgentLsError as error:
            raise RequestError(_INVALID_PARAMS, str(error)) from error

    return handled


@dataclass(frozen=True, slots=True)
class _Opened:
    """The sessions of one set of folders under one set of settings."""

    settings: Settings
    workspace: EditorFiles
    sessions: Sessions


class Agent:
    """The agent of one client."""

    def __init__(self, command_line: Mapping[str, Any]) -> None:
        """``command_line`` is a tree of settings, above all others."""
        self._command_line = command_line
        self._client: Client | None = None
        self._fs = FileSystemCapabilities()
        self._opened: list[_Opened] = []
        self._opening = asyncio.Lock()
        self._conversations: dict[str, Conversation] = {}
        self._tool_kinds = {tool.name: tool.kind for tool in catalogue.TOOLS}

    def on_connect(self, conn: Client) -> None:
        """Take the way to the client."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        """Say what is there; keys and models come from the settings, so nobody signs in."""
        if client_capabilities is not None and client_capabilities.fs is not None:
            self._fs = client_capabilities.fs
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="agent-ls", title="agent-ls", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                mcp_capabilities=McpCapabilities(http=True),
                prompt_capabilities=PromptCapabilities(embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    @_in_words
    async def new_session(
        self,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ToolServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        """Begin a session in a folder."""
        async with self._opening:
            opened = await self._open(cwd, additional_directories, mcp_servers)
            session = await opened.sessions.fresh()
        conversation = self._attached(opened, session)
        conversation.say(await _commands(opened.sessions))
        return NewSessionResponse(session_id=session.id, modes=_modes(conversation))

    @_in_words
    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[ToolServer] | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Open a stored session and send all of it."""
        conversation = await self._stored(session_id, cwd, additional_directories, mcp_servers)
        await conversation.replay()
        return LoadSessionResponse(modes=_modes(conversation))

    @_in_words
    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: Sequence[str] | None = None,
        mcp_servers: Sequence[ToolServer] | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        """Open a stored session whose transcript the client has."""
        conversation = await self._stored(session_id, cwd, additional_directories, mcp_servers)
        return ResumeSessionResponse(modes=_modes(conversation))

    @_in_words
    async def list_sessions(
        self,
        cwd: str | None = None,
        cursor: str | None = None,
        additional_directories: Sequence[str] | None = None,
        **_: Any,
    ) -> ListSessionsResponse:
        """Return the newest sessions of a folder; without one, of the folders that are open."""
        async with self._opening:
            opened = self._opened if cwd is None else [await self._open(cwd)]
        found = {
            one.session_id: (one, place.workspace)
            for place in opened
            for one in await place.sessions.list()
            if one.turns
        }
        newest = sorted(found.values(), key=lambda pair: -pair[0].updated_ms)[:_MAX_LISTED]
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=one.session_id,
                    cwd=str(workspace.roots[0].path),
                    additional_directories=[str(root.path) for root in workspace.roots[1:]],
                    title=one.title or None,
                    updated_at=datetime.fromtimestamp(one.updated_ms / 1000, UTC).isoformat(),
                )
                for one, workspace in newest
            ]
        )

    @_in_words
    async def prompt(self, session_id: str, prompt: Sequence[Block], **_: Any) -> PromptResponse:
        """Carry out a prompt; the answer comes when the turn has ended."""
        return await (await self._conversation(session_id)).prompt(prompt)

    @_in_words
    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the session's turn."""
        await (await self._conversation(session_id)).cancel()

    @_in_words
    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        """Switch the mode, from the next decision on."""
        if mode_id not in _MODES:
            raise AgentLsError(f"There is no mode {mode_id}, only {', '.join(_MODES)}.")
        await (await self._conversation(session_id)).session.set_mode(Mode(mode_id))
        return SetSessionModeResponse()

    @_in_words
    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Stop what runs in a session and show it no longer; it can be loaded again."""
        conversation = await self._conversation(session_id)
        await conversation.cancel()
        return CloseSessionResponse()

    async def close(self) -> None:
        """Close all sessions; a running turn stays open and can be resumed."""
        await asyncio.gather(
            *(one.sessions.close() for one in self._opened), return_exceptions=True
        )

    async def _open(
        self,
        cwd: str,
        additional: Sequence[str] | None = None,
        servers: Sequence[ToolServer] | None = None,
    ) -> _Opened:
        """Return the sessions of folders with today's settings and trust."""
        roots = _roots([cwd, *(additional or ())])
        loaded = await asyncio.to_thread(
            load_settings,
            folders=[root.path for root in roots],
            command_line=_with_servers(self._command_line, servers, roots),
        )
        if loaded.own_problems:
            # As on the command line: a mistyped limit must not become no limit.
            raise SettingsError(" ".join(loaded.own_problems))
        if not loaded.settings.model:
            raise SettingsError(_NO_MODEL)
        for problem in loaded.problems:
            _log.warning("%s", problem)
        for one in self._opened:
            if one.workspace.roots == roots and one.settings == loaded.settings:
                return one
        assert self._client is not None
        workspace = EditorFiles(roots, self._client, self._fs)
        sessions = await open_sessions(loaded.settings, workspace, is_attended=True)
        self._opened.append(_Opened(loaded.settings, workspace, sessions))
        return self._opened[-1]

    def _attached(self, opened: _Opened, session: Session) -> Conversation:
        known = self._conversations.get(session.id)
        if known is not None and known.session is session:
            return known
        assert self._client is not None
        conversation = Conversation(session, opened.workspace, self._client, self._tool_kinds)
        self._conversations[session.id] = conversation
        return conversation

    async def _stored(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str] | None,
        servers: Sequence[ToolServer] | None,
    ) -> Conversation:
        """Return a session of this folder. Errors: ``StoreError`` when it has none of this id."""
        async with self._opening:
            known = self._conversations.get(session_id)
            if known is not None and not known.session.is_closed:
                return known
            opened = await self._open(cwd, additional, servers)
            if session_id not in {one.session_id for one in await opened.sessions.list()}:
                raise StoreError(f"{cwd} has no session {session_id}; list them to see which are.")
            conversation = self._attached(opened, await opened.sessions.open(session_id))
            conversation.say(await _commands(opened.sessions))
            return conversation

    async def _conversation(self, session_id: str) -> Conversation:
        """Return an open session, or one that was closed because others were used since."""
        known = self._conversations.get(session_id)
        if known is None:
            raise AgentLsError(f"Session {session_id} is not open here: load it first.")
        if not known.session.is_closed:
            return known
        opened = next(one for one in self._opened if one.workspace is known.workspace)
        return self._attached(opened, await opened.sessions.open(session_id))


def _roots(folders: Sequence[str]) -> tuple[Root, ...]:
    """Return the folders with their trust. Errors: ``AgentLsError`` for one that cannot be used."""
    trusted = TrustedFolders(trust_file())
    roots: dict[str, Root] = {}
    for folder in folders:
        path = Path(folder)
        if not path.is_absolute() or not path.is_dir():
            raise AgentLsError(f"{folder} is not a folder: give the absolute path of one.")
        path = path.resolve()
        name = path.name or "root"
        if name in roots and roots[name].path != path:
            raise AgentLsError(
                f"Two folders are named {name}; open one of them in its own session."
            )
        roots[name] = Root(name, path, trusted.is_trusted(path))
    return tuple(roots.values())


def _modes(conversation: Conversation) -> SessionModeState:
    return SessionModeState(
        current_mode_id=conversation.session.state.mode,
        available_modes=[
            SessionMode(id=mode, name=name, description=words)
            for mode, (name, words) in _MODES.items()
        ],
    )


def _with_servers(
    command_line: Mapping[str, Any], servers: Sequence[ToolServer] | None, roots: tuple[Root, ...]
) -> Mapping[str, Any]:
    """Return the settings with the editor's tool servers, which a folder may have named."""
    if not servers:
        return command_line
    if all(root.is_trusted for root in roots):
        # The command line wins: it names its servers for agent-ls.
        return {**settings_of(servers), **command_line}
    names = ", ".join(one.name for one in servers)
    _log.warning("the editor's tool servers (%s) are used once the folder is trusted", names)
    return command_line


async def _commands(sessions: Sessions) -> AvailableCommandsUpdate:
    """Return the custom commands, which the client offers behind a slash."""
    found = await sessions.custom_commands.listed()
    return AvailableCommandsUpdate(
        session_update="available_commands_update",
        available_commands=[
            AvailableCommand(
                name=one.name,
                description=one.description or one.source,
                input=AvailableCommandInput(UnstructuredCommandInput(hint=one.argument_hint))
                if one.argument_hint
                else None,
            )
            for one in found.commands.values()
        ],
    )
