"""The language server: what it announces, and its life from ``initialize`` to the end.

Before ``initialize`` is answered only pygls and plain literals are loaded. The rest is imported in
a thread; messages that need it are held until then.
``FEATURES`` and ``COMMANDS`` are announced; ``handlers/verbs.py`` serves them.
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
    from agent_ls.lsp.editor_context import EditorContext
    from agent_ls.lsp.proxy.multiplexer import Multiplexer

_log = logging.getLogger(__name__)

AGENT_VERSION: Final = 1
"""Version of the ``agent/*`` protocol. A test checks that it equals ``wire.VERSION``."""

_MADE_BEFORE_COLLECTION: Final = (10_000, 10, 1_000)
"""Garbage collector thresholds of generations 0, 1 and 2: rare full collections, as one takes
20 ms."""

_ALL_FILES: Final = types.FileOperationRegistrationOptions(
    [types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)

FEATURES: Final[dict[str, Any]] = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[
            types.CodeActionKind.QuickFix,
            types.CodeActionKind.RefactorRewrite,
            types.CodeActionKind.Source,
        ]
    ),
    types.TEXT_DOCUMENT_CODE_LENS: types.CodeLensOptions(resolve_provider=False),
    types.TEXT_DOCUMENT_HOVER: None,
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=["/", "@", "#"]),
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: types.SemanticTokensLegend(
        token_types=["comment", "keyword", "function", "string"], token_modifiers=[]
    ),
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True
    ),
    types.WORKSPACE_DIAGNOSTIC: None,
    types.TEXT_DOCUMENT_FOLDING_RANGE: None,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: None,
    types.TEXT_DOCUMENT_DOCUMENT_LINK: types.DocumentLinkOptions(resolve_provider=True),
    types.DOCUMENT_LINK_RESOLVE: None,
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT: None,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: None,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: None,
    types.WORKSPACE_DID_CREATE_FILES: _ALL_FILES,
    types.WORKSPACE_DID_RENAME_FILES: _ALL_FILES,
    types.WORKSPACE_DID_DELETE_FILES: _ALL_FILES,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: None,
}
"""The announced standard methods, with their options."""

COMMANDS: Final = (
    "agent-ls.prompt",
    "agent-ls.steer",
    "agent-ls.stop",
    "agent-ls.finish",
    "agent-ls.compact",
    "agent-ls.conversation",
    "agent-ls.conversation.send",
    "agent-ls.more",
    "agent-ls.session.list",
    "agent-ls.session.new",
    "agent-ls.session.resume",
    "agent-ls.session.decline",
    "agent-ls.session.fork",
    "agent-ls.approval.resolve",
    "agent-ls.approval.show",
    "agent-ls.question.resolve",
    "agent-ls.edit.apply",
    "agent-ls.edit.discard",
    "agent-ls.nudge.continue",
    "agent-ls.nudge.leave",
    "agent-ls.nudge.silence",
    "agent-ls.finding.hide",
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
    "agent-ls.effort",
    "agent-ls.commands",
    "agent-ls.doctor",
    "agent-ls.rules",
    "agent-ls.trust",
)
"""The announced commands."""

_START_ANYWAY_S = 1.0
"""Loading starts after this delay if the client never sends ``initialized``."""
_SHUTDOWN_S = 0.3


def create_server(
    command_line: Mapping[str, Any] | None = None, beside: str | None = None
) -> AgentLanguageServer:
    """Return a server for one connection; it loads the agent after ``initialize``.

    ``beside`` is the command of another server whose work goes through this one.
    """
    server = AgentLanguageServer(
        "agent-ls",
        __version__,
        features=FEATURES,
        commands=COMMANDS,
        content_schemes=("agent-ls",),
        experimental={"agent": {"version": AGENT_VERSION}},
    )
    other = None
    if beside is not None:
        from agent_ls.lsp.proxy.multiplexer import Multiplexer

        other = Multiplexer(beside, FEATURES)
        server.join = other.join
        server.on_stop.append(other.close)
    life = _Life(server, command_line or {}, other)

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
    """Loads the context of one connection, and closes it."""

    def __init__(
        self,
        server: AgentLanguageServer,
        command_line: Mapping[str, Any],
        other: Multiplexer | None,
    ) -> None:
        self._server = server
        self._other = other
        self._command_line = command_line
        self._options: dict[str, Any] = {}
        self._loading: asyncio.Task[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._context: EditorContext | None = None

    def on_initialize(self, params: types.InitializeParams) -> None:
        """Hold messages until the context is loaded, which starts within a second."""
        options: object = params.initialization_options
        if isinstance(options, dict):
            self._options = cast("dict[str, Any]", options)
        self._server.protocol.hold()
        asyncio.get_running_loop().call_later(_START_ANYWAY_S, self.load)

    async def on_shutdown(self) -> None:
        """Close everything, but answer within the time editors wait for a shutdown."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SHUTDOWN_S):
                await self.close()

    async def close(self) -> None:
        """Close everything; a second call waits for the first, and neither can cancel it."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._context is not None:
            await self._context.close()

    def load(self) -> None:
        """Start loading, once."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(self._open_edge())

    async def _open_edge(self) -> None:
        server = self._server
        try:
            opening = await asyncio.to_thread(importlib.import_module, "agent_ls.lsp.opening")
            context: EditorContext = await opening.open_edge(
                server, self._options, self._command_line, self._other
            )
        except Exception:
            _log.exception("agent-ls could not be loaded")
            words = "agent-ls could not be loaded; its log says why."
            server.protocol.notify(
                types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(types.MessageType.Error, words)
            )
            server.stop(1)
            return
        self._context = context
        server.protocol.release()
        # Loaded modules stay; scanning them in every full collection takes 80 ms.
        gc.freeze()
        # Full collections of later objects wait too: `presenters` runs them between turns.
        gc.set_threshold(*_MADE_BEFORE_COLLECTION)
        try:
            await context.review_open_changes()
        except Exception:
            _log.exception("could not look for open changes")
        await context.sessions.offer_resuming()
