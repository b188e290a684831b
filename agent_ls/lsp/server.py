"""The language server: what it announces, and its life from ``initialize`` to the last message.

Until ``initialize`` is answered only pygls and plain literals are loaded; everything else comes
on a thread afterwards, and messages that need it are held until it is there.
``FEATURES`` and ``COMMANDS`` are the whole surface: a new one is a file in ``handlers`` and a
line here.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from agent_ls import __version__
from agent_ls.lsp.connection.language_server import AgentLanguageServer
from agent_ls.lsp.connection.structuring import REQUEST_FAILED

if TYPE_CHECKING:
    from agent_ls.lsp.edge import Edge

_log = logging.getLogger(__name__)

AGENT_VERSION: Final = 1
"""Of the ``agent/*`` protocol; ``wire.VERSION`` says the same, and a test that they agree."""

_MADE_BEFORE_COLLECTION: Final = (10_000, 10, 1_000)
"""Objects made before Python looks for garbage among the young ones; then how many such looks come
before one among older ones, and how many of those before one among all, which takes 20 ms."""

_ALL_FILES: Final = types.FileOperationRegistrationOptions(
    [types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)

FEATURES: Final[dict[str, tuple[str, Any]]] = {
    types.TEXT_DOCUMENT_CODE_ACTION: (
        "code_action",
        types.CodeActionOptions(
            code_action_kinds=[
                types.CodeActionKind.QuickFix,
                types.CodeActionKind.RefactorRewrite,
            ]
        ),
    ),
    types.TEXT_DOCUMENT_CODE_LENS: ("code_lens", types.CodeLensOptions(resolve_provider=False)),
    types.TEXT_DOCUMENT_HOVER: ("hover", None),
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: ("text_document_content", None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: ("did_change_configuration", None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: ("did_change_workspace_folders", None),
    types.WORKSPACE_DID_CREATE_FILES: ("file_operations", _ALL_FILES),
    types.WORKSPACE_DID_RENAME_FILES: ("file_operations", _ALL_FILES),
    types.WORKSPACE_DID_DELETE_FILES: ("file_operations", _ALL_FILES),
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: ("work_done_progress_cancel", None),
    "agent/prompt": ("agent_prompt", None),
    "agent/steer": ("agent_steer", None),
    "agent/cancel": ("agent_cancel", None),
    "agent/snapshot": ("agent_snapshot", None),
    "agent/sessions/list": ("agent_sessions_list", None),
    "agent/sessions/new": ("agent_sessions_new", None),
    "agent/sessions/resume": ("agent_sessions_resume", None),
    "agent/approval/resolve": ("agent_approval_resolve", None),
    "agent/question/resolve": ("agent_question_resolve", None),
    "agent/review/list": ("agent_review_list", None),
    "agent/review/decide": ("agent_review_decide", None),
    "agent/review/diff": ("agent_review_diff", None),
    "agent/config": ("agent_config", None),
    "agent/editorDiagnostics": ("agent_editor_diagnostics", None),
}
"""Method: the module in ``handlers`` whose ``handle(edge, params)`` serves it, and its options."""

COMMANDS: Final[dict[str, str]] = {
    "agent-ls.prompt": "commands_turn.prompt",
    "agent-ls.steer": "commands_turn.steer",
    "agent-ls.stop": "commands_turn.stop",
    "agent-ls.finish": "commands_turn.finish",
    "agent-ls.approval.resolve": "commands_answer.resolve_approval",
    "agent-ls.approval.show": "commands_answer.show_approval",
    "agent-ls.question.resolve": "commands_answer.resolve_question",
    "agent-ls.edit.discard": "commands_answer.discard_edit",
    "agent-ls.nudge.continue": "commands_nudge.go_on",
    "agent-ls.nudge.leave": "commands_nudge.leave",
    "agent-ls.nudge.silence": "commands_nudge.silence",
    "agent-ls.review.keep": "commands_review.keep",
    "agent-ls.review.undo": "commands_review.undo",
    "agent-ls.review.redo": "commands_review.redo",
    "agent-ls.review.list": "commands_review.list_changes",
    "agent-ls.review.next": "commands_review_places.next_change",
    "agent-ls.review.previous": "commands_review_places.previous_change",
    "agent-ls.review.diff": "commands_review_diff.diff",
    "agent-ls.restore": "commands_restore.restore",
    "agent-ls.session.list": "commands_session.list_sessions",
    "agent-ls.session.new": "commands_session.new",
    "agent-ls.session.resume": "commands_session.resume",
    "agent-ls.session.fork": "commands_session.fork",
    "agent-ls.mode": "commands_session.mode",
    "agent-ls.model": "commands_session.model",
    "agent-ls.trust": "commands_trust.trust",
}
"""Command: the function in ``handlers`` that runs it as ``function(edge, *arguments)``."""

_NOT_HELD = frozenset({types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS})
"""Comes before everything is loaded, too; whatever came until then is taken over in loading."""

_CHANGES_SETTINGS = frozenset(
    {types.WORKSPACE_DID_CHANGE_CONFIGURATION, types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS}
)
"""These wait for the requests that run; the others wait for these."""

_START_ANYWAY_S = 1.0
"""A client that never sends ``initialized`` is served all the same."""
_SHUTDOWN_S = 0.3


def create_server(command_line: Mapping[str, Any] | None = None) -> AgentLanguageServer:
    """Return a server for one connection; it loads the agent after ``initialize``."""
    server = AgentLanguageServer(
        "agent-ls",
        __version__,
        commands=tuple(COMMANDS),
        content_schemes=("agent-ls",),
        experimental={"agent": {"version": AGENT_VERSION}},
    )
    life = _Life(server, command_line or {})
    _register_life(server, life)
    for method, (module, options) in FEATURES.items():
        server.feature(method, options)(_feature(life, method, module))
    for command, place in COMMANDS.items():
        server.command(command)(_command(life, command, place))
    return server


class _Life:
    """One connection's way from nothing to a loaded edge, and back."""

    def __init__(self, server: AgentLanguageServer, command_line: Mapping[str, Any]) -> None:
        self._server = server
        self._command_line = command_line
        self._options: dict[str, Any] = {}
        self._loading: asyncio.Task[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._edge: Edge | None = None

    @property
    def edge(self) -> Edge:
        """Return the loaded edge; messages that need it are held until there is one."""
        if self._edge is None:
            raise RuntimeError("agent-ls could not be loaded; its log says why")
        return self._edge

    @property
    def is_loaded(self) -> bool:
        """Say whether there is an edge."""
        return self._edge is not None

    def on_initialize(self, params: types.InitializeParams) -> None:
        """Hold what needs more than is loaded, and begin to load at the latest in a second."""
        options: object = params.initialization_options
        if isinstance(options, dict):
            self._options = cast("dict[str, Any]", options)
        self._server.hold_messages()
        asyncio.get_running_loop().call_later(_START_ANYWAY_S, self.load)

    async def on_shutdown(self) -> None:
        """End what runs, for as long as an editor is ready to wait."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SHUTDOWN_S):
                await self.close()

    async def close(self) -> None:
        """End what runs; a second call waits for the first, which no impatience breaks off."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._edge is not None:
            await self._edge.close()

    def load(self) -> None:
        """Begin to load, once."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._open_edge())

    async def _open_edge(self) -> None:
        try:
            opening = await asyncio.to_thread(importlib.import_module, "agent_ls.lsp.opening")
            self._edge = await opening.open_edge(self._server, self._options, self._command_line)
        except Exception:
            _log.exception("agent-ls could not be loaded")
        finally:
            self._server.release_messages()
        # What is loaded stays: looking through all of it for garbage takes 80 ms each time.
        gc.freeze()
        # Nor is all that came since looked through while somebody may wait: `faces` lets that be
        # done between turns.
        gc.set_threshold(*_MADE_BEFORE_COLLECTION)
        if self._edge is not None:
            try:
                await self._edge.review_open_changes()
            except Exception:
                _log.exception("could not look for open changes")
            await self._edge.sessions.offer_resuming()


def _register_life(server: AgentLanguageServer, life: _Life) -> None:
    """Register what a connection's life brings; pygls takes no bound methods."""

    @server.feature(types.INITIALIZE)
    def on_initialize(params: types.InitializeParams) -> None:
        life.on_initialize(params)

    @server.feature(types.INITIALIZED)
    def on_initialized(params: types.InitializedParams) -> None:
        life.load()

    @server.feature(types.SHUTDOWN)
    async def on_shutdown(params: None) -> None:
        await life.on_shutdown()

    server.on_stop.append(life.close)
    # pygls keeps the functions.
    del on_initialize, on_initialized, on_shutdown


def _feature(life: _Life, method: str, module: str) -> Any:
    async def handler(params: Any) -> Any:
        if method in _NOT_HELD and not life.is_loaded:
            return None
        handle = importlib.import_module(f"agent_ls.lsp.handlers.{module}").handle
        if method in _CHANGES_SETTINGS:
            return await _told(handle(life.edge, params))
        async with life.edge.changeover.request():
            return await _told(handle(life.edge, params))

    return handler


def _command(life: _Life, name: str, place: str) -> Any:
    module, _, called = place.partition(".")

    async def handler(*given: Any) -> Any:
        editor = life.edge.editor
        editor.command_came()
        command = getattr(importlib.import_module(f"agent_ls.lsp.handlers.{module}"), called)
        try:
            async with life.edge.changeover.request():
                return await _told(_called(name, command, life.edge, given))
        except JsonRpcException as error:
            editor.say_failed(name, error.message)
            raise
        except Exception:
            editor.say_failed(name, "failed by a mistake of agent-ls; its log says more.")
            raise

    return handler


async def _called(name: str, command: Callable[..., Awaitable[Any]], edge: Edge, given: Any) -> Any:
    """Run a command; errors: ``AgentLsError`` for arguments that it does not take."""
    from agent_ls.lsp.connection.arguments import arguments_of

    return await command(edge, *arguments_of(name, command, given))


async def _told(work: Awaitable[Any]) -> Any:
    """Answer what a person can do something about with its words; it is no defect of ours."""
    from agent_ls.domain.errors import AgentLsError, BugError

    try:
        return await work
    except BugError:
        raise
    except AgentLsError as error:
        raise JsonRpcException(str(error), REQUEST_FAILED) from error
    except OSError as error:
        # Of a name that is too long, a folder that may not be read: the disk's word.
        raise JsonRpcException(f"The disk refused it: {error.strerror}.", REQUEST_FAILED) from error
