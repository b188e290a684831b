"""The language server: what it announces, and its life from ``initialize`` to the last message.

Until ``initialize`` is answered only pygls and plain literals are loaded; everything else comes
on a thread afterwards, and messages that need it are held until it is there.
``FEATURES`` and ``COMMANDS`` are what is announced; what serves them is ``handlers/verbs.py``.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from lsprotocol import types

from agent_ls import __version__
from agent_ls.lsp.connection.language_server import AgentLanguageServer

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

FEATURES: Final[dict[str, Any]] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorRewrite]
    ),
    types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensOptions(resolve_provider=False),
    types.TEXT_DOCUMENT_HOVER: None,
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: None,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: None,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: None,
    types.WORKSPACE_DID_CREATE_FILES: _ALL_FILES,
    types.WORKSPACE_DID_RENAME_FILES: _ALL_FILES,
    types.WORKSPACE_DID_DELETE_FILES: _ALL_FILES,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: None,
}
"""The standard methods that are announced, with their options."""

COMMANDS: Final = (
    "agent-ls.prompt",
    "agent-ls.steer",
    "agent-ls.stop",
    "agent-ls.finish",
    "agent-ls.session.list",
    "agent-ls.session.new",
    "agent-ls.session.resume",
    "agent-ls.session.fork",
    "agent-ls.approval.resolve",
    "agent-ls.approval.show",
    "agent-ls.question.resolve",
    "agent-ls.edit.discard",
    "agent-ls.nudge.continue",
    "agent-ls.nudge.leave",
    "agent-ls.nudge.silence",
    "agent-ls.review.keep",
    "agent-ls.review.undo",
    "agent-ls.review.redo",
    "agent-ls.review.list",
    "agent-ls.review.next",
    "agent-ls.review.previous",
    "agent-ls.review.diff",
    "agent-ls.restore",
    "agent-ls.mode",
    "agent-ls.model",
    "agent-ls.trust",
)
"""The commands that are announced."""

_START_ANYWAY_S = 1.0
"""A client that never sends ``initialized`` is served all the same."""
_SHUTDOWN_S = 0.3


def create_server(command_line: Mapping[str, Any] | None = None) -> AgentLanguageServer:
    """Return a server for one connection; it loads the agent after ``initialize``."""
    server = AgentLanguageServer(
        "agent-ls",
        __version__,
        features=FEATURES,
        commands=COMMANDS,
        content_schemes=("agent-ls",),
        experimental={"agent": {"version": AGENT_VERSION}},
    )
    life = _Life(server, command_line or {})

    # pygls takes no bound methods.
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
    del on_initialize, on_initialized, on_shutdown
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

    def on_initialize(self, params: types.InitializeParams) -> None:
        """Hold what needs more than is loaded, and begin to load at the latest in a second."""
        options: object = params.initialization_options
        if isinstance(options, dict):
            self._options = cast("dict[str, Any]", options)
        self._server.protocol.hold()
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
        server = self._server
        try:
            opening = await asyncio.to_thread(importlib.import_module, "agent_ls.lsp.opening")
            edge: Edge = await opening.open_edge(server, self._options, self._command_line)
        except Exception:
            _log.exception("agent-ls could not be loaded")
            words = "agent-ls could not be loaded; its log says why."
            server.protocol.notify(
                types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(types.MessageType.Error, words)
            )
            server.stop(1)
            return
        self._edge = edge
        server.protocol.release()
        # What is loaded stays: looking through all of it for garbage takes 80 ms each time.
        gc.freeze()
        # Nor is all that came since looked through while somebody may wait: `faces` lets that be
        # done between turns.
        gc.set_threshold(*_MADE_BEFORE_COLLECTION)
        try:
            await edge.review_open_changes()
        except Exception:
            _log.exception("could not look for open changes")
        await edge.sessions.offer_resuming()
