"""Joins our server and another one into one connection: who gets which message, and which id.

Sits between the pipes and the protocol, works on JSON values, and our server knows nothing of it.
Ids: the editor's go to both servers as they are; the other server's get a prefix on their way to
the editor; our own requests to the other server have another prefix.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Hashable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from agent_ls.lsp.connection.frames import Fault, Message, encode_frame
from agent_ls.lsp.connection.stdio import FrameWriter
from agent_ls.lsp.conversation_page import is_conversation
from agent_ls.lsp.proxy import merging
from agent_ls.lsp.proxy.joining import Answers, Diagnostics, Side
from agent_ls.lsp.proxy.merging import Json
from agent_ls.lsp.proxy.peer import Peer

_log = logging.getLogger(__name__)

Deliver = Callable[[Message | Fault], None]

_INITIALIZE_S: Final = 20.0
"""Editors give up on a server after 30 s or more."""
_MOST_OPEN: Final = 1_000
"""Requests of the other server that the editor has not answered."""
_FROM_THEIRS: Final = "beside:"
_FROM_OURS: Final = "agent-ls:"
_REQUEST_FAILED: Final = -32803
_INVALID_REQUEST: Final = -32600
_TOKENS: Final = ("partialResultToken", "workDoneToken")


class Multiplexer:
    """Two servers on one connection."""

    def __init__(self, command: str, features: Collection[str]) -> None:
        """``command`` starts the other server; ``features`` are the methods that ours announces."""
        self._features = features
        self._peer = Peer(command, self._peer_ended)
        self._answers = Answers(
            self._send, lambda request: self._tell_theirs("$/cancelRequest", {"id": request})
        )
        self.diagnostics = Diagnostics(self._send)
        self._opened: set[str] = set()
        """Documents that the editor has open."""
        self._lent: dict[str, list[None]] = {}
        """One item for each time that a text is shown to the other server that the editor has not
        opened."""
        self._deliver_ours: Deliver = lambda item: None
        self._writer: FrameWriter | None = None
        self._initialize: Json | None = None
        """The editor's request."""
        self._timer: asyncio.TimerHandle | None = None
        self._last_words = ""
        """Why the other server has ended."""
        self._held: list[Json] | None = []
        """Messages before ``initialize`` is answered; None afterwards."""
        self._ours: Json = {}
        self.theirs: Json = {}
        """The other server's capabilities."""
        self._asks: dict[str, Any] = {}
        """The other server's ids of its requests to the editor, by ours."""
        self._tokens: set[int | str] = set()
        """Progress that the other server shows."""
        self._questions: dict[str, asyncio.Future[Json]] = {}
        self._numbers = 0

    @property
    def name(self) -> str:
        """The other server's name for people."""
        return self._peer.name

    @property
    def is_alive(self) -> bool:
        """Whether the other server runs and has answered ``initialize``."""
        return self._peer.is_alive and self._held is None

    def join(self, deliver: Deliver, writer: FrameWriter) -> tuple[Deliver, _OurOutbox]:
        """Start the other server between our protocol and the editor's pipes."""
        self._deliver_ours, self._writer = deliver, writer
        self._peer.start(self._from_theirs, writer.wait_for_room)
        return self._from_editor, _OurOutbox(writer, self._from_ours)

    async def close(self) -> None:
        """End the other server."""
        for question in self._questions.values():
            question.cancel()
        await self._peer.close()

    async def ask(self, method: str, params: Json, timeout_s: float) -> Any:
        """Return the other server's result; None when it has none, fails or is late."""
        if not self.is_alive:
            return None
        self._numbers += 1
        name = f"{_FROM_OURS}{self._numbers}"
        answer = self._questions[name] = asyncio.get_running_loop().create_future()
        self._peer.send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
        try:
            async with asyncio.timeout(timeout_s):
                return (await answer).get("result")
        except TimeoutError:
            self._tell_theirs("$/cancelRequest", {"id": name})
            return None
        finally:
            del self._questions[name]

    @asynccontextmanager
    async def shown(self, uri: str, language_id: str, text: str) -> AsyncGenerator[None]:
        """Let the other server see a text while the editor has not opened it."""
        if uri in self._opened:
            yield
            return
        lent = self._lent.setdefault(uri, [])
        if not lent:
            document = {"uri": uri, "languageId": language_id, "version": 0, "text": text}
            self._tell_theirs("textDocument/didOpen", {"textDocument": document})
        lent.append(None)
        try:
            yield
        finally:
            lent.pop()
            # It is another one, or none, if the editor has opened it meanwhile.
            if not lent and self._lent.get(uri) is lent:
                self._close(uri)

    def _close(self, uri: str) -> None:
        del self._lent[uri]
        self._tell_theirs("textDocument/didClose", {"textDocument": {"uri": uri}})

    # From the editor.

    def _from_editor(self, item: Message | Fault) -> None:
        message = item.value if isinstance(item, Message) else None
        if not isinstance(message, dict):
            self._deliver_ours(item)
            return
        self._take(cast(Json, message))

    def _take(self, message: Json) -> None:
        method, is_request = message.get("method"), "id" in message
        if not isinstance(method, str):
            self._answered_by_editor(message)
        elif self._initialize is None and method != "exit":
            if method == "initialize" and is_request:
                self._begin(message)
            else:
                self._to_ours(message)
        elif self._held is not None and method != "exit":
            self._held.append(message)
        elif not self._peer.is_alive:
            self._without_theirs(message, method, is_request=is_request)
        elif is_request:
            self._request(message, method)
        else:
            self._notification(message, method)

    def _request(self, message: Json, method: str) -> None:
        params = _params(message)
        sides, message_id = self._sides(method, params), message["id"]
        if "theirs" not in sides or type(message_id) not in (int, str):
            self._to_ours(message)
            return
        resolved = merging.RESOLVED.get(method)
        if resolved and not _params(self.theirs, resolved).get("resolveProvider"):
            # The editor asks because of ours, and theirs is whole already.
            self._send({"jsonrpc": "2.0", "id": message_id, "result": params})
            return
        if self._answers.is_open(message_id):
            error = {"code": _INVALID_REQUEST, "message": f"id {message_id!r} is in use"}
            self._send({"jsonrpc": "2.0", "id": message_id, "error": error})
            return
        self._answers.wait(message_id, method, sides)
        if params and len(sides) == 2:
            # Pieces of a result cannot be joined.
            whole = {key: one for key, one in params.items() if key not in _TOKENS}
            message = {**message, "params": whole}
        self._peer.send(message)
        if "ours" in sides:
            self._to_ours(message)

    def _sides(self, method: str, params: Json) -> tuple[Side, ...]:
        """Return who is asked."""
        uri = str(_params(params, "textDocument").get("uri") or params.get("uri") or "")
        if method == "initialize" or method.startswith("agent/") or _is_ours(uri):
            return ("ours",)
        if method == "shutdown":
            return ("ours", "theirs")
        if method == "workspace/executeCommand":
            commands = _params(self._ours, "executeCommandProvider").get("commands", ())
            return ("ours",) if params.get("command") in commands else ("theirs",)
        if method.endswith("/resolve"):
            return ("ours",) if merging.OWN_DATA in _params(params, "data") else ("theirs",)
        if not merging.wants(self._ours, method):
            return ("theirs",)
        if not merging.wants(self.theirs, method):
            return ("ours",)
        return ("ours", "theirs") if method in merging.MERGED else ("theirs",)

    def _notification(self, message: Json, method: str) -> None:
        params = _params(message)
        uri = str(_params(params, "textDocument").get("uri") or "")
        if method == "textDocument/didOpen" and uri in self._lent:
            self._close(uri)
        if method == "$/cancelRequest" or not (method.startswith("agent/") or _is_ours(uri)):
            self._peer.send(message)
        if method == "textDocument/didOpen":
            self._opened.add(uri)
        elif method == "textDocument/didClose":
            self._opened.discard(uri)
        self._to_ours(message)

    def _without_theirs(self, message: Json, method: str, *, is_request: bool) -> None:
        """Answer with nothing what the other server was to answer."""
        uri = str(_params(_params(message), "textDocument").get("uri") or "")
        is_ours = _is_ours(uri) or merging.wants(self._ours, method)
        is_theirs = method.startswith("textDocument/") and not is_ours
        if is_request and self.theirs and is_theirs:
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": None})
        else:
            self._to_ours(message)

    def _answered_by_editor(self, message: Json) -> None:
        message_id = message.get("id")
        if isinstance(message_id, str) and message_id.startswith(_FROM_THEIRS):
            if message_id in self._asks:
                self._peer.send({**message, "id": self._asks.pop(message_id)})
            return
        self._to_ours(message)

    # From our server.

    def _from_ours(self, frame: bytes) -> None:
        message: Json = json.loads(frame.partition(b"\r\n\r\n")[2])
        method = message.get("method")
        if method == "textDocument/publishDiagnostics":
            self.diagnostics.publish("ours", message)
        elif method is None and self._answers.is_open(message.get("id")):
            self._answers.settle("ours", message)
        elif method is None and self._is_initialize_answer(message):
            self._initialized(message)
        elif self._writer is not None:
            self._writer.send(frame)

    # From the other server.

    def _from_theirs(self, item: Message | Fault) -> None:
        if not self._peer.is_alive:
            return
        if isinstance(item, Fault) or not isinstance(cast(Any, item.value), dict):
            _log.warning("%s sent what is no message", self.name)
            return
        message = cast(Json, item.value)
        method = message.get("method")
        if "method" not in message:
            self._answered_by_theirs(message)
        elif not isinstance(method, str):
            _log.warning("%s sent a message without a method", self.name)
        elif "id" in message:
            self._asked_by_theirs(message, method)
        elif method == "textDocument/publishDiagnostics":
            self.diagnostics.publish("theirs", message)
        else:
            self._told_by_theirs(message, method)

    def _answered_by_theirs(self, message: Json) -> None:
        message_id = message.get("id")
        if not isinstance(message_id, int | str):
            return
        if self._initialize is not None and self._held is not None:
            if message_id == self._initialize["id"]:
                self._initialized_theirs(message)
            return
        if isinstance(message_id, str) and message_id in self._questions:
            if not (question := self._questions[message_id]).done():
                question.set_result(message)
        elif self._answers.is_open(message_id):
            self._answers.settle("theirs", message)

    def _asked_by_theirs(self, message: Json, method: str) -> None:
        if len(self._asks) >= _MOST_OPEN:
            error = {"code": _REQUEST_FAILED, "message": "The editor has not answered so many."}
            self._peer.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        self._numbers += 1
        name = f"{_FROM_THEIRS}{self._numbers}"
        self._asks[name] = message["id"]
        token = _params(message).get("token")
        if method == "window/workDoneProgress/create" and isinstance(token, int | str):
            self._tokens.add(token)
        self._send({**message, "id": name})

    def _told_by_theirs(self, message: Json, method: str) -> None:
        params = _params(message)
        if method == "$/cancelRequest":
            name = next((n for n, one in self._asks.items() if one == params.get("id")), None)
            if name is not None:
                self._send({**message, "params": {"id": name}})
            return
        if method == "$/progress" and _params(params, "value").get("kind") == "end":
            token = params.get("token")
            self._tokens.discard(token if isinstance(token, int | str) else "")
        self._send(message)

    # The beginning and the end.

    def _begin(self, message: Json) -> None:
        """Ask the other server first: ours takes the position encoding that it chooses."""
        self._initialize = message
        if not self._peer.is_alive:
            self._initialize_ours(None)
            return
        params = merging.params_for_theirs(_params(message), self._features)
        self._peer.send({**message, "params": params})
        late = f"did not answer initialize within {_INITIALIZE_S:g} s"
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_INITIALIZE_S, self._peer.give_up, late)

    def _initialized_theirs(self, message: Json) -> None:
        if self._timer is None or self._initialize is None:
            return
        capabilities = _params(_params(message, "result"), "capabilities")
        encoding = capabilities.get("positionEncoding")
        if "error" in message:
            self._peer.give_up(f"refused to start: {_params(message, 'error').get('message')}")
        elif not merging.encoding_fits(_params(self._initialize), encoding):
            self._peer.give_up(f"counts columns in {encoding!r}, which was not offered")
        else:
            self._timer.cancel()
            self._timer = None
            self.theirs = capabilities
            self._initialize_ours([encoding or "utf-16"])

    def _initialize_ours(self, encodings: list[Any] | None) -> None:
        assert self._initialize is not None
        params = merging.params_for_ours(_params(self._initialize), encodings)
        self._to_ours({**self._initialize, "params": params})

    def _is_initialize_answer(self, message: Json) -> bool:
        begun = self._initialize
        return begun is not None and self._held is not None and message.get("id") == begun["id"]

    def _initialized(self, message: Json) -> None:
        result = _params(message, "result")
        self._ours = _params(result, "capabilities")
        if self._ours:
            merged = merging.merged_capabilities(self._ours, self.theirs)
            message = {**message, "result": {**result, "capabilities": merged}}
        self._send(message)
        held, self._held = self._held or [], None
        if self._last_words:
            self._say(self._last_words)
        for one in held:
            self._take(one)

    def _peer_ended(self, reason: str) -> None:
        """Say it once, and go on with ours alone."""
        _log.error("%s", reason)
        self._last_words = (
            f"{reason}. agent-ls goes on without it; restart the language server to try again."
        )
        if self._held is None:
            self._say(self._last_words)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._initialize_ours(None)
        self._answers.fail_theirs({"code": _REQUEST_FAILED, "message": reason})
        for question in self._questions.values():
            if not question.done():
                question.set_result({})
        for name in self._asks:
            self._send(_said("$/cancelRequest", {"id": name}))
        for token in self._tokens:
            self._send(_said("$/progress", {"token": token, "value": {"kind": "end"}}))
        self._asks.clear()
        self._tokens.clear()
        self.diagnostics.drop_theirs()

    # Sending.

    def _say(self, words: str) -> None:
        self._send(_said("window/showMessage", {"type": 1, "message": words}))

    def _to_ours(self, message: Json) -> None:
        if message.get("method") == "workspace/didChangeConfiguration":
            message = {**message, "params": merging.settings_for_ours(message.get("params"))}
        self._deliver_ours(Message(message))

    def _tell_theirs(self, method: str, params: Json) -> None:
        self._peer.send(_said(method, params))

    def _send(self, message: Json) -> None:
        if self._writer is not None:
            self._writer.send(encode_frame(json.dumps(message)))


class _OurOutbox:
    """What our protocol writes to."""

    def __init__(self, writer: FrameWriter, sent: Callable[[bytes], None]) -> None:
        self._writer = writer
        self._sent = sent

    def send(self, frame: bytes) -> None:
        """Send a frame of ours, or keep it until the other server has said its part."""
        self._sent(frame)

    def send_droppable(
        self,
        key: Hashable,
        payload: Any,
        *,
        size: int,
        encode: Callable[[Any], bytes],
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Pass it on: nothing droppable needs to be joined."""
        self._writer.send_droppable(key, payload, size=size, encode=encode, merge=merge)


def _said(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _params(message: Json, key: str = "params") -> Json:
    return merging.mapping(message.get(key))


def _is_ours(uri: str) -> bool:
    return uri.startswith("agent-ls:") or is_conversation(uri)
