"""Our protocol class over pygls: answers or logs every message, and survives every failure.

Owns a message's way from JSON to its handler and back, the connection's life (initialize,
shutdown, exit), text synchronisation and the list of commands. Others register the handlers.

Differences from pygls: invalid parameters are answered with an error. Custom methods have types.
Requests to the client have a time limit, and late answers are ignored. Finished futures are
dropped. No traceback leaves the process. The document store is our own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Future
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from cattrs import Converter
from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import (
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from agent_ls.lsp.connection.asking import ClientError, Questions
from agent_ls.lsp.connection.clients import ClientProfile
from agent_ls.lsp.connection.documents import Change, DocumentStore
from agent_ls.lsp.connection.frames import Fault, Message, encode_frame
from agent_ls.lsp.connection.limits import TO_CLIENT
from agent_ls.lsp.connection.positions import ENCODINGS
from agent_ls.lsp.connection.saved_texts import SavedTexts
from agent_ls.lsp.connection.structuring import (
    INTERNAL_ERROR,
    Structure,
    Unstructured,
    error_object,
)

if TYPE_CHECKING:
    from agent_ls.lsp.connection.notebooks import OpenNotebooks
    from agent_ls.lsp.connection.stdio import Outbox

logger = logging.getLogger(__name__)

MessageId = int | str
Handler = Callable[..., Any]
UserSteps = Generator[tuple[Handler, tuple[Any, ...], None], Any, Any]

_PARSE_ERROR: Final = -32700
_DOCUMENTS: Final = frozenset(
    {
        types.TEXT_DOCUMENT_DID_OPEN,
        types.TEXT_DOCUMENT_DID_CHANGE,
        types.TEXT_DOCUMENT_DID_SAVE,
        types.TEXT_DOCUMENT_DID_CLOSE,
    }
)
_NOTEBOOKS: Final = frozenset(
    {
        types.NOTEBOOK_DOCUMENT_DID_OPEN,
        types.NOTEBOOK_DOCUMENT_DID_CHANGE,
        types.NOTEBOOK_DOCUMENT_DID_SAVE,
        types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    }
)
_RAW: Final = _DOCUMENTS | _NOTEBOOKS
"""Parsed by hand: they are frequent, and some clients omit required fields."""
_AT_CELLS: Final = frozenset(
    {
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.TEXT_DOCUMENT_HOVER,
        types.WORKSPACE_EXECUTE_COMMAND,
    }
)
"""Requests about places that are answered in a cell as in its notebook."""
_NOTEBOOK_SYNC: Final = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(
                notebook_type="jupyter-notebook", scheme="file"
            )
        )
    ],
    save=True,
)
_NEVER_HELD: Final = _RAW | {
    types.INITIALIZE,
    types.INITIALIZED,
    types.SHUTDOWN,
    types.EXIT,
    types.SET_TRACE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
}


class Owner(Protocol):
    """What the connection needs from its server object."""

    name: str
    version: str
    process_id: int | None
    features: dict[str, Any]
    command_names: tuple[str, ...]
    content_schemes: tuple[str, ...]
    experimental: dict[str, Any]

    def stop(self, code: int, reason: str = "") -> None:
        """Ends the connection."""
        ...


class AgentProtocol(LanguageServerProtocol):
    """One connection to one client."""

    def __init__(self, server: Owner, converter: Converter) -> None:
        self._owner = server
        self.documents = DocumentStore()
        """The open documents; up to date before any handler of a message runs."""
        self.saved_texts = SavedTexts(self.documents)
        """Follows the documents from the first one, before the rest of agent-ls is loaded."""
        self.profile = ClientProfile()
        """What the client can do; cautious defaults until `initialize`."""
        self.folders: dict[str, str] = {}
        """The workspace folders, URI to name, in the client's order."""
        self.structure = Structure(converter)
        self.questions = Questions(self._send_message)
        self._outbox: Outbox | None = None
        self._is_initialized = False
        self._running: dict[MessageId, str] = {}
        """The method of each unanswered request, by id."""
        self._held: list[dict[str, Any]] | None = None
        super().__init__(cast(Any, server), converter)
        self._registered: Any = self.fm
        self._handlers: dict[str, Handler] = self._registered.features
        # pygls continues a cancelled command, and knows only its own progress tokens.
        for method in types.WORKSPACE_EXECUTE_COMMAND, types.WINDOW_WORK_DONE_PROGRESS_CANCEL:
            del self._registered.builtin_features[method]

    @property
    def is_shutting_down(self) -> bool:
        """Whether the client has sent `shutdown`."""
        return self._shutdown

    # Incoming messages.

    def receive(self, item: Message | Fault) -> None:
        """Handles one message or fault; never raises."""
        value: Any = item.value
        if isinstance(item, Fault):
            logger.warning("Received %s", item.reason)
            message_id = _id_of(value) if isinstance(value, dict) and "method" in value else None
            text = f"agent-ls received {item.reason}"
            self._send_error(message_id, {"code": _PARSE_ERROR, "message": text})
        elif isinstance(value, dict):
            self._receive_object(cast(dict[str, Any], value))
        else:
            self._refuse(None, "a message must be one JSON object, and LSP has no batches")

    def hold(self) -> None:
        """Queues all later messages until `release`, but not the connection's and the documents'.

        So the server can answer `initialize` before everything is loaded.
        """
        self._held = []

    def release(self) -> None:
        """Handles the queued messages in order and stops queueing."""
        held, self._held = self._held or [], None
        for message in held:
            self._receive_object(message)

    def _receive_object(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if "method" not in message:
            if "id" in message and ("result" in message or "error" in message):
                self.questions.answered(message)
            else:
                self._refuse(_id_of(message), "neither a method nor an answer")
        elif not isinstance(method, str) or message.get("jsonrpc") != "2.0":
            self._refuse(_id_of(message), 'a message needs a "method" and "jsonrpc": "2.0"')
        elif self._held is not None and method not in _NEVER_HELD:
            self._held.append(message)
        elif "id" in message:
            self._receive_request(message["id"], method, message.get("params"))
        else:
            self._receive_notification(method, message.get("params"))

    def _receive_request(self, message_id: Any, method: str, raw: Any) -> None:
        if type(message_id) not in (int, str):
            self._refuse(None, f"the id of {method} is neither an integer nor a string")
            return
        if message_id in self._running:
            self._refuse(message_id, f"id {message_id!r} is in use by a request still running")
            return
        self._running[message_id] = method
        try:
            self._start_request(message_id, method, raw)
        except Exception as error:
            self._answer_error(message_id, error)

    def _start_request(self, message_id: MessageId, method: str, raw: Any) -> None:
        if self._shutdown:
            raise JsonRpcInvalidRequest("agent-ls is shutting down")
        if self._is_initialized == (method == types.INITIALIZE):
            if self._is_initialized:
                raise JsonRpcInvalidRequest("initialize was already answered")
            raise JsonRpcServerNotInitialized(f"{method} came before initialize")
        if method in _RAW:
            raise JsonRpcInvalidRequest(f"{method} is a notification: it has no id")
        handler = self._get_handler(method)
        if method in _AT_CELLS:
            raw = self.notebooks.in_notebook(raw)
        params = self.structure.params(method, raw)
        self._execute_handler(
            message_id,
            handler,
            lambda future: self._send_handler_result(future, msg_id=message_id),
            (params,),
        )

    def _receive_notification(self, method: str, raw: Any) -> None:
        if method == types.CANCEL_REQUEST:
            future = self._request_futures.get(cast(MessageId, _id_of(raw)))
            if future is not None:
                future.cancel()
        elif method == types.EXIT:
            self._owner.stop(0 if self._shutdown else 1)
        elif self._shutdown or not self._is_initialized:
            logger.debug("Ignored %s outside the connection's life", method)
        elif method in _RAW:
            self._synchronise(method, raw)
        else:
            self._notified(method, raw)

    def _notified(self, method: str, raw: Any) -> None:
        try:
            handler = self._get_handler(method)
            params = self.structure.params(method, raw)
            self._execute_handler(object(), handler, self._check_handler_result, (params,))
        except JsonRpcMethodNotFound:
            logger.debug("Ignored a notification without a handler: %s", method)
        except Unstructured as error:
            logger.warning("Ignored %s: %s", method, error)
        except Exception:
            logger.exception("Failed in %s", method)

    # Running handlers; pygls' own generator handlers come through here, too.

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Handler,
        callback: Callable[[Future[Any]], Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    def _send_handler_result(self, future: Future[Any], *, msg_id: MessageId) -> None:
        if future.cancelled():
            self._answer_error(msg_id, _cancelled(msg_id))
        elif (error := future.exception()) is not None:
            self._answer_error(msg_id, error)
        else:
            self._answer(msg_id, future.result())

    def _check_handler_result(self, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is None:
            return
        told = error_object(error, "a notification")
        if told["code"] != INTERNAL_ERROR:
            logger.warning("Ignored a notification: %s", told["message"])
        else:
            logger.error("A notification's handler failed", exc_info=error)

    # Outgoing messages.

    def connect(self, outbox: Outbox) -> None:
        """Sends all messages there from now on."""
        self._outbox = outbox

    def disconnect(self) -> None:
        """Ends all pending requests, ours and the client's."""
        self.questions.close()
        for future in list(self._request_futures.values()):
            future.cancel()

    def notify(self, method: str, params: Any | None = None) -> None:
        """Sends a notification; safe to call from any thread."""
        self._send_message(_notification(method, params))

    def notify_droppable(
        self,
        method: str,
        params: Any,
        *,
        key: Hashable,
        size: int,
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Sends a notification that may be dropped while the client is slow.

        `merge(older, newer)` returns params that replace both. Merging and encoding may happen
        later, so do not modify `params` afterwards.
        """
        if self._outbox is not None:
            self._outbox.send_droppable(
                key,
                params,
                size=size,
                encode=lambda p: self._frame(_notification(method, p)),
                merge=merge,
            )

    async def ask_client(
        self, method: str, params: Any = None, *, timeout_s: float | None = None
    ) -> Any:
        """The client's typed answer to a request; its time limit is that of `limits`.

        Cancelling also cancels the request at the client.
        Errors: `ClientError`; its subclass `ClientRefused` means the client answered with an error.
        """
        limit_s = TO_CLIENT[method].limit_s if timeout_s is None else timeout_s
        raw = await self.questions.ask(method, params, limit_s)
        try:
            return self.structure.result(method, raw)
        except Unstructured as error:
            words = f"The editor's answer to {method} is not understood: {error}"
            raise ClientError(words) from error

    def _answer(self, message_id: MessageId, result: Any) -> None:
        try:
            frame = self._frame({"jsonrpc": "2.0", "id": message_id, "result": result})
        except Exception as error:
            self._answer_error(message_id, error)
            return
        self._running.pop(message_id, None)
        self._send_frame(frame)

    def _answer_error(self, message_id: MessageId, error: BaseException) -> None:
        method = self._running.pop(message_id, "the request")
        told = error_object(error, method)
        if told["code"] == INTERNAL_ERROR:
            logger.error("Failed in %s", method, exc_info=error)
        self._send_error(message_id, told)

    def _refuse(self, message_id: MessageId | None, reason: str) -> None:
        logger.warning("Refused a message: %s", reason)
        self._send_error(message_id, {"code": JsonRpcInvalidRequest.CODE, "message": reason})

    def _send_error(self, message_id: MessageId | None, error: dict[str, Any]) -> None:
        self._send_message({"jsonrpc": "2.0", "id": message_id, "error": error})

    def _send_message(self, message: dict[str, Any]) -> None:
        self._send_frame(self._frame(message))

    def _frame(self, message: dict[str, Any]) -> bytes:
        return encode_frame(self.structure.dumps(message))

    def _send_frame(self, frame: bytes) -> None:
        if self._outbox is not None:
            self._outbox.send(frame)

    # The life of a connection.

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> UserSteps:
        """Sets encoding, folders and profile, calls the registered handler, and answers."""
        self._owner.process_id = params.process_id
        self.client_capabilities = params.capabilities
        self.profile = ClientProfile.of(params)
        chosen = ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities)
        encoding = str(getattr(chosen, "value", chosen))
        self.documents.encoding = next(e for e in ENCODINGS if e == encoding)
        self.documents.ends = self.profile.line_ends
        self.documents.may_be_mixed = self.profile.mixes_changes
        self.folders = _folders(params)
        if (handler := self._handlers.get(types.INITIALIZE)) is not None:
            yield handler, (params,), None
        self.server_capabilities = self._capabilities(chosen)
        self._is_initialized = True
        return types.InitializeResult(self.server_capabilities, self.server_info)

    def _capabilities(self, encoding: types.PositionEncodingKind | str) -> types.ServerCapabilities:
        server = self._owner
        built = ServerCapabilitiesBuilder(
            self.client_capabilities,
            {*server.features, *self._handlers, *self._registered.builtin_features},
            {name: options for name, options in server.features.items() if options is not None},
            sorted(server.command_names),
            types.TextDocumentSyncKind.Incremental,
            _NOTEBOOK_SYNC if self.client_capabilities.notebook_document else None,
            encoding,
        ).build()
        built.inline_completion_provider = None
        if not self.profile.pulls_diagnostics:
            built.diagnostic_provider = None
        if types.TEXT_DOCUMENT_COMPLETION in self.profile.registers:
            built.completion_provider = None
        if types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL in self.profile.registers:
            built.semantic_tokens_provider = None
        if server.content_schemes and built.workspace is not None:
            options = types.TextDocumentContentOptions(schemes=list(server.content_schemes))
            built.workspace.text_document_content = options
        built.experimental = server.experimental or None
        return built

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> UserSteps:
        """Calls the registered handler, then cancels all other running requests."""
        if (handler := self._handlers.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        self._shutdown = True
        for message_id, future in list(self._request_futures.items()):
            if self._running.get(message_id, types.SHUTDOWN) != types.SHUTDOWN:
                future.cancel()

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> UserSteps:
        """Updates the folders, then calls the registered handler."""
        for folder in params.event.removed:
            self.folders.pop(folder.uri, None)
        for folder in params.event.added:
            self.folders[folder.uri] = folder.name
        method = types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS
        if (handler := self._handlers.get(method)) is not None:
            yield handler, (params,), None

    # The documents.

    @cached_property
    def notebooks(self) -> OpenNotebooks:
        """The notebooks that are open by their cells."""
        # Most clients have none.
        from agent_ls.lsp.connection.notebooks import OpenNotebooks

        return OpenNotebooks(self.documents)

    def _synchronise(self, method: str, raw: Any) -> None:
        uri = ""
        try:
            if method in _NOTEBOOKS:
                uri = _text(raw["notebookDocument"]["uri"])
                self.notebooks.follow(method, raw)
                return
            document = raw["textDocument"]
            uri = _text(document["uri"])
            self._apply(method, uri, document, raw)
        except Exception as error:
            # We missed a change: the editor's text is no longer ours.
            self.documents.lose_sync(uri)
            logger.error("Could not follow %s of %r: %r", method, uri, error)

    def _apply(self, method: str, uri: str, document: dict[str, Any], raw: dict[str, Any]) -> None:
        version = document.get("version")
        version = version if type(version) is int else None
        if method == types.TEXT_DOCUMENT_DID_OPEN:
            text, language_id = document["text"], document.get("languageId")
            self.documents.open(uri, str(language_id or ""), version, _text(text))
        elif method == types.TEXT_DOCUMENT_DID_CHANGE:
            changes = [Change.from_json(change) for change in raw["contentChanges"]]
            self.documents.change(uri, version, changes)
        elif method == types.TEXT_DOCUMENT_DID_SAVE:
            text = raw.get("text")
            self.documents.save(uri, None if text is None else _text(text))
        else:
            self.documents.close(uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_SAVE)
    def lsp_text_document__did_save(self, params: Any) -> None:
        """Only announces the method; `_synchronise` handles it."""


def _notification(method: str, params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def _id_of(value: Any) -> MessageId | None:
    if not isinstance(value, dict):
        return None
    message_id = cast(dict[str, Any], value).get("id")
    return message_id if type(message_id) in (int, str) else None


def _cancelled(message_id: MessageId) -> JsonRpcRequestCancelled:
    return JsonRpcRequestCancelled(f"Request {message_id!r} was cancelled")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is not a string")
    return value


def _folders(params: types.InitializeParams) -> dict[str, str]:
    if params.workspace_folders:
        return {folder.uri: folder.name for folder in params.workspace_folders}
    if params.root_uri:
        return {params.root_uri: params.root_uri.rstrip("/").rpartition("/")[2]}
    return {}
