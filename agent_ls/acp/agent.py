"""What a client may ask: sessions, prompts, modes. The package routes the requests here."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, Client, RequestError, schema

from agent_ls import __version__, catalogue
from agent_ls.acp.conversation import Conversation
from agent_ls.acp.folders import Folders, Opened
from agent_ls.acp.prompt_blocks import Block, path_of
from agent_ls.domain.errors import AgentLsError, StoreError
from agent_ls.domain.modes import MODE_WORDS, Mode
from agent_ls.session.session import Session
from agent_ls.session.sessions import Sessions

_log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

_MAX_LISTED: Final = 200
_INVALID_PARAMS: Final = -32602


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


class Agent:
    """The agent of one client."""

    def __init__(self, client: Client, folders: Folders) -> None:
        """``folders`` opens the sessions of the folders that the client names."""
        self._client = client
        self._folders = folders
        self._conversations: dict[str, Conversation] = {}
        self._tool_kinds = {tool.name: tool.kind for tool in catalogue.TOOLS}

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Announce our abilities; keys and models come from the settings, so there is no login."""
        if client_capabilities is not None and client_capabilities.fs is not None:
            self._folders.lent = client_capabilities.fs
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(
                name="agent-ls", title="agent-ls", version=__version__
            ),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                mcp_capabilities=schema.McpCapabilities(http=True),
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True, image=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    @_in_words
    async def new_session(self, cwd: str, **place: Any) -> schema.NewSessionResponse:
        """Begin a session in a folder."""
        async with self._folders.opening:
            opened = await self._folders.open(cwd, **place)
            session = await opened.sessions.fresh()
        conversation = self._attached(opened, session)
        await _tell_commands(conversation, opened.sessions)
        return schema.NewSessionResponse(session_id=session.id, modes=_modes(conversation))

    @_in_words
    async def load_session(
        self, cwd: str, session_id: str, **place: Any
    ) -> schema.LoadSessionResponse:
        """Open a stored session and send all of it."""
        conversation = await self._stored(session_id, cwd, place)
        await conversation.replay()
        return schema.LoadSessionResponse(modes=_modes(conversation))

    @_in_words
    async def resume_session(
        self, session_id: str, cwd: str, **place: Any
    ) -> schema.ResumeSessionResponse:
        """Open a stored session whose transcript the client has."""
        conversation = await self._stored(session_id, cwd, place)
        return schema.ResumeSessionResponse(modes=_modes(conversation))

    @_in_words
    async def list_sessions(self, cwd: str | None = None, **_: Any) -> schema.ListSessionsResponse:
        """Return the newest sessions of a folder; without one, of all folders."""
        found = await self._folders.sessions(cwd)
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=one.session_id,
                    cwd=str(path_of(one.roots[0])),
                    additional_directories=[str(path_of(uri)) for uri in one.roots[1:]],
                    title=one.title or None,
                    updated_at=datetime.fromtimestamp(one.updated_ms / 1000, UTC).isoformat(),
                )
                for one in found
                if one.turns and one.roots and not (one.is_dry_run or one.is_archived)
            ][:_MAX_LISTED]
        )

    @_in_words
    async def prompt(
        self, session_id: str, prompt: Sequence[Block], **_: Any
    ) -> schema.PromptResponse:
        """Carry out a prompt; the answer comes when the turn has ended."""
        return await (await self._conversation(session_id)).prompt(prompt)

    @_in_words
    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the session's turn."""
        await (await self._conversation(session_id)).cancel()

    @_in_words
    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Switch the mode, from the next decision on."""
        if mode_id not in MODE_WORDS:
            raise AgentLsError(f"There is no mode {mode_id}, only {', '.join(MODE_WORDS)}.")
        await (await self._conversation(session_id)).session.set_mode(Mode(mode_id))
        return schema.SetSessionModeResponse()

    @_in_words
    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Stop what runs in a session and let go of it; it can be loaded again."""
        known = self._conversations.get(session_id)
        if known is not None and not known.session.is_closed:
            # Its turn is stopped with it.
            await self._folders.of(known.workspace).sessions.leave(session_id)
        return schema.CloseSessionResponse()

    def _attached(self, opened: Opened, session: Session) -> Conversation:
        known = self._conversations.get(session.id)
        if known is not None and known.session is session:
            return known
        conversation = Conversation(session, opened.workspace, self._client, self._tool_kinds)
        self._conversations[session.id] = conversation
        return conversation

    async def _stored(self, session_id: str, cwd: str, place: Mapping[str, Any]) -> Conversation:
        """Return a session of this folder. Errors: ``StoreError`` when it has none of this id."""
        async with self._folders.opening:
            known = self._conversations.get(session_id)
            if known is not None and not known.session.is_closed:
                return known
            opened = await self._folders.open(cwd, **place)
            listed = await opened.sessions.list(with_empty=True)
            if session_id not in {one.session_id for one in listed}:
                raise StoreError(f"{cwd} has no session {session_id}; list them to see which are.")
            conversation = self._attached(opened, await opened.sessions.open(session_id))
            await _tell_commands(conversation, opened.sessions)
            return conversation

    async def _conversation(self, session_id: str) -> Conversation:
        """Return an open session, or one that was closed because others were used since."""
        known = self._conversations.get(session_id)
        if known is None:
            raise AgentLsError(f"Session {session_id} is not open here: load it first.")
        if not known.session.is_closed:
            return known
        opened = self._folders.of(known.workspace)
        return self._attached(opened, await opened.sessions.open(session_id))


def _modes(conversation: Conversation) -> schema.SessionModeState:
    return schema.SessionModeState(
        current_mode_id=conversation.session.state.mode,
        available_modes=[
            schema.SessionMode(id=mode, name=name, description=words)
            for mode, (name, words) in MODE_WORDS.items()
        ],
    )


async def _tell_commands(conversation: Conversation, sessions: Sessions) -> None:
    """Send the custom commands, which the client offers behind a slash."""
    found = [
        schema.AvailableCommand(
            name=one.name,
            description=one.description or one.source,
            input=_hint(one.argument_hint),
        )
        for one in (await sessions.custom_commands.listed()).commands.values()
    ]
    if found:
        conversation.say(
            schema.AvailableCommandsUpdate(
                session_update="available_commands_update", available_commands=found
            )
        )


def _hint(text: str) -> schema.AvailableCommandInput | None:
    return (
        schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=text)) if text else None
    )
