"""A small LSP client with real buffers: ``agent-ls demo`` and the tests drive the server with it.

It is an editor without a screen: it holds documents, applies edits to them with version checks,
tells the server what changed, and keeps what the server shows. It shares no code with the
server's own document store, so that one cannot hide the other's mistakes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import unquote, urlsplit

T = TypeVar("T")

_HEADER = re.compile(rb"Content-Length: (\d+)\r\n\Z")
_LINE_END = re.compile(r"\r\n|\r|\n")
_METHOD_NOT_FOUND = -32601
_STOP_S = 5.0


class ServerError(Exception):
    """The server answered a request with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        """Take the request's method and the error object."""
        super().__init__(f"{method}: {error.get('message')} ({error.get('code')})")
        self.code = error.get("code")


class NotLsp(Exception):
    """The server wrote something to its standard output that is no LSP message."""


@dataclass
class Buffer:
    """One open document, as an editor holds it."""

    uri: str
    language_id: str
    text: str
    version: int

    def offset(self, place: Mapping[str, int], encoding: str) -> int:
        """Return the code point at a position that the server named."""
        starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        if place["line"] >= len(starts):
            return len(self.text)
        start = starts[place["line"]]
        end = _LINE_END.search(self.text, start)
        line = self.text[start : end.start() if end else len(self.text)]
        return start + _code_points(line, place["character"], encoding)

    def place(self, offset: int, encoding: str) -> dict[str, int]:
        """Return the position of a code point."""
        ends = [match.end() for match in _LINE_END.finditer(self.text, 0, offset)]
        start = ends[-1] if ends else 0
        return {"line": len(ends), "character": _units(self.text[start:offset], encoding)}

    def edited(self, edits: Sequence[Mapping[str, Any]], encoding: str) -> str:
        """Return the text after edits that all count from the text as it is."""
        spans = sorted(
            (
                self.offset(edit["range"]["start"], encoding),
                self.offset(edit["range"]["end"], encoding),
                number,
                str(edit["newText"]),
            )
            for number, edit in enumerate(edits)
        )
        text = self.text
        for start, end, _, new_text in reversed(spans):
            text = text[:start] + new_text + text[end:]
        return text


@dataclass
class Shown:
    """What the server has shown so far."""

    diagnostics: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict[str, list[dict[str, Any]]]
    )
    progress: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict[str, list[dict[str, Any]]]
    )
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    updates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Of all sessions, in order, from ``agent/update``."""
    edits: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Every ``workspace/applyEdit`` that came."""
    errors: list[str] = field(default_factory=list[str])
    """Answers of the server to nothing we asked, and defects of this client."""


class DemoClient:
    """An editor that speaks to one server process."""

    def __init__(
        self,
        root: Path,
        *,
        capabilities: Mapping[str, Any],
        name: str = "agent-ls demo",
        initialization_options: Mapping[str, Any] | None = None,
        has_folder: bool = True,
    ) -> None:
        """Take the folder, and what this editor says it can do."""
        self.root = root
        self.capabilities = capabilities
        self.name = name
        self.initialization_options = dict(initialization_options or {})
        self.has_folder = has_folder
        self.encoding = "utf-16"
        self.buffers: dict[str, Buffer] = {}
        self.shown = Shown()
        self.server_capabilities: dict[str, Any] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._ids = itertools.count(1)
        self._asked: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._failure: Exception | None = None

    # The connection.

    async def start(
        self, command: Sequence[str], *, env: Mapping[str, str], log: Path
    ) -> dict[str, Any]:
        """Start the server, shake hands, and return what it can do; its stderr goes to ``log``."""
        with log.open("ab") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=self.root,
                env=dict(env),
                # An editor takes any message; asyncio's default would end at 64 KiB.
                limit=64 * 2**20,
            )
        self._reading = asyncio.create_task(self._read())
        folders = [{"uri": self.root.as_uri(), "name": self.root.name}] if self.has_folder else None
        answer = await self.request(
            "initialize",
            {
                "processId": None,
                "clientInfo": self.client_info(),
                "rootUri": self.root.as_uri() if self.has_folder else None,
                "workspaceFolders": folders,
                "capabilities": self.capabilities,
                "initializationOptions": self.initialization_options,
            },
        )
        self.server_capabilities = answer["capabilities"]
        self.encoding = self.server_capabilities.get("positionEncoding") or "utf-16"
        await self.notify("initialized", {})
        return self.server_capabilities

    def client_info(self) -> dict[str, Any] | None:
        """Return how this editor calls itself; None where it does not say."""
        return {"name": self.name}

    async def stop(self) -> int:
        """Shut the server down and return its exit code; kills one that does not end."""
        process = self.process()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_STOP_S):
                await self.request("shutdown", None)
                await self.notify("exit", None)
        try:
            async with asyncio.timeout(_STOP_S):
                code = await process.wait()
        except TimeoutError:
            process.kill()
            code = await process.wait()
        await self._end()
        return code

    async def kill(self) -> None:
        """Kill the server, as a crash would."""
        process = self.process()
        process.kill()
        await process.wait()
        await self._end()

    async def request(self, method: str, params: Any, timeout_s: float = 30) -> Any:
        """Return the server's answer. Errors: ``ServerError``, ``TimeoutError``, ``NotLsp``."""
        number = next(self._ids)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = method, answer
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        await self._send(message if params is None else {**message, "params": params})
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise TimeoutError(f"the server did not answer {method} in {timeout_s:g} s") from None

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        await self._send(message if params is None else {**message, "params": params})

    async def until(self, what: Callable[[], T | None], timeout_s: float = 30, why: str = "") -> T:
        """Wait until ``what`` returns something, looking again at every message.

        Errors: ``TimeoutError`` saying ``why`` was waited.
        """

        def is_there() -> bool:
            if self._failure is not None:
                raise self._failure
            return bool(what())

        try:
            async with asyncio.timeout(timeout_s), self._news:
                await self._news.wait_for(is_there)
        except TimeoutError:
            raise TimeoutError(f"nothing came of it in {timeout_s:g} s: {why}") from None
        found = what()
        assert found, "nothing ran since it was found"
        return found

    # What a person does.

    def uri(self, path: str) -> str:
        """Return the URI of a file below the root."""
        return (self.root / path).as_uri()

    async def open(self, path: str, language_id: str = "", text: str | None = None) -> Buffer:
        """Open a file, or a new buffer with this text."""
        if text is None:
            data = (self.root / path).read_bytes()
            text = data.decode("utf-8-sig")
        buffer = Buffer(self.uri(path), language_id or _language_of(path), text, version=1)
        self.buffers[buffer.uri] = buffer
        await self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": buffer.uri,
                    "languageId": buffer.language_id,
                    "version": buffer.version,
                    "text": text,
                }
            },
        )
        return buffer

    async def change(self, uri: str, text: str) -> None:
        """Make the buffer hold this text, and tell the server the smallest change."""
        buffer = self.buffers[uri]
        before, after = buffer.text, text
        start, end = _common_ends(before, after)
        change = {
            "range": {
                "start": buffer.place(start, self.encoding),
                "end": buffer.place(len(before) - end, self.encoding),
            },
            "text": after[start : len(after) - end],
        }
        buffer.text = after
        buffer.version += 1
        await self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": buffer.version},
                "contentChanges": [change],
            },
        )

    async def save(self, uri: str) -> None:
        """Write a buffer to its file, and tell the server."""
        path = self.path_of(uri)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.buffers[uri].text.encode())
        await self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    async def close(self, uri: str) -> None:
        """Close a buffer; what is not saved is lost."""
        del self.buffers[uri]
        await self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def code_actions(self, uri: str, line: int, last_line: int | None = None) -> list[Any]:
        """Return the code actions on lines (0-based), asked for as editors ask."""
        end = line if last_line is None else last_line
        known = [
            one
            for one in self.shown.diagnostics.get(uri, [])
            if one["range"]["start"]["line"] <= end and line <= one["range"]["end"]["line"]
        ]
        found = await self.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri},
                "range": {
                    "start": {"line": line, "character": 0},
                    "end": {"line": end, "character": 0},
                },
                "context": {"diagnostics": known, "triggerKind": 1},
            },
        )
        return found or []

    async def execute(self, command: str, *arguments: Any) -> Any:
        """Run a command of the server."""
        params = {"command": command, "arguments": list(arguments)}
        return await self.request("workspace/executeCommand", params)

    async def choose(self, action: Mapping[str, Any]) -> Any:
        """Do what a code action says: its edit first, then its command."""
        if action.get("edit"):
            await self.apply_workspace_edit(action["edit"])
        command = action.get("command")
        if isinstance(command, str):
            return await self.execute(command, *action.get("arguments", ()))
        if command:
            return await self.execute(command["command"], *(command.get("arguments") or ()))
        return None

    # What the server asks.

    async def answer(self, method: str, params: Any) -> Any:
        """Return the answer to a request of the server; an editor of another kind overrides it.

        Errors: ``LookupError`` for a method this editor does not know.
        """
        match method:
            case "workspace/applyEdit":
                return await self.apply_edit(params)
            case "workspace/configuration":
                return [None for _ in params["items"]]
            case "window/workDoneProgress/create" | "client/registerCapability":
                return None
            case "window/showMessageRequest":
                self.shown.messages.append(params)
                return None
            case "agent/save":
                return await self.save_all(params["uris"])
            case _:
                raise LookupError(method)

    async def apply_edit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Apply an edit wholly, or refuse it when a document has moved on."""
        stale = self.stale(params["edit"])
        if stale is not None:
            return {"applied": False, "failureReason": f"{stale} has changed in the meantime"}
        await self.apply_workspace_edit(params["edit"])
        return {"applied": True}

    def stale(self, edit: Mapping[str, Any]) -> str | None:
        """Return the first document whose version is not the one the edit was made for."""
        for change in edit.get("documentChanges") or ():
            if "kind" in change:
                continue
            document = change["textDocument"]
            buffer = self.buffers.get(document["uri"])
            version = document.get("version")
            if buffer is not None and version is not None and version != buffer.version:
                return str(document["uri"])
        return None

    async def apply_workspace_edit(self, edit: Mapping[str, Any]) -> None:
        """Carry out an edit."""
        changes = cast("dict[str, list[Any]]", edit.get("changes") or {})
        for uri, edits in changes.items():
            await self._apply_text(uri, edits)
        for change in edit.get("documentChanges") or ():
            match change.get("kind"):
                case "create":
                    path = self.path_of(change["uri"])
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.touch()
                case "rename":
                    await self._rename(change["oldUri"], change["newUri"])
                case "delete":
                    if change["uri"] in self.buffers:
                        await self.close(change["uri"])
                    self.path_of(change["uri"]).unlink()
                case _:
                    await self._apply_text(change["textDocument"]["uri"], change["edits"])

    async def save_all(self, uris: Sequence[str]) -> dict[str, Any]:
        """Save these buffers."""
        for uri in uris:
            if uri in self.buffers:
                await self.save(uri)
        return {"unsaved": [uri for uri in uris if uri not in self.buffers]}

    async def _apply_text(self, uri: str, edits: Sequence[Mapping[str, Any]]) -> None:
        if uri not in self.buffers:
            await self.open(str(self.path_of(uri).relative_to(self.root)))
        await self.change(uri, self.buffers[uri].edited(edits, self.encoding))

    async def _rename(self, old: str, new: str) -> None:
        self.path_of(new).parent.mkdir(parents=True, exist_ok=True)
        self.path_of(old).rename(self.path_of(new))
        if old in self.buffers:
            text = self.buffers[old].text
            await self.close(old)
            await self.open(str(self.path_of(new).relative_to(self.root)), text=text)

    def path_of(self, uri: str) -> Path:
        """Return the file of a URI."""
        return Path(unquote(urlsplit(uri).path))

    # How messages go.

    def process(self) -> asyncio.subprocess.Process:
        """Return the server's process."""
        if self._process is None:
            raise RuntimeError("the server was not started")
        return self._process

    async def _end(self) -> None:
        if self._reading is not None:
            with contextlib.suppress(Exception):
                await self._reading
        for task in self._tasks:
            task.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None
        self.buffers.clear()

    async def _send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps(message).encode()
        stdin = self.process().stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError):
            stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            await stdin.drain()

    async def _read(self) -> None:
        stdout = self.process().stdout
        assert stdout is not None
        try:
            while header := await stdout.readline():
                match = _HEADER.match(header)
                if match is None or await stdout.readline() != b"\r\n":
                    raise NotLsp(f"the server wrote {header[:200]!r}")
                await self._take(json.loads(await stdout.readexactly(int(match[1]))))
        except asyncio.IncompleteReadError:
            pass
        except Exception as error:
            self._failure = error
        finally:
            for method, answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(
                        self._failure or ConnectionError(f"the server left before {method}")
                    )
                    # Nobody may be waiting any more, and that is fine.
                    answer.exception()
            await self._tell()

    async def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            method, answer = self._asked.pop(message.get("id", 0), ("", None))
            if answer is None or answer.done():
                self.shown.errors.append(f"an answer to nothing: {message}")
            elif "error" in message:
                answer.set_exception(ServerError(method, message["error"]))
            else:
                answer.set_result(message.get("result"))
        elif "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._show(message["method"], message.get("params") or {})
        await self._tell()

    async def _answer(self, message: dict[str, Any]) -> None:
        number, method = message["id"], message["method"]
        if method == "workspace/applyEdit":
            self.shown.edits.append(message["params"])
        try:
            result = await self.answer(method, message.get("params"))
        except LookupError:
            error = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not known here"}
            await self._send({"jsonrpc": "2.0", "id": number, "error": error})
        else:
            await self.send_answer(number, method, result)
        await self._tell()

    async def send_answer(self, number: Any, method: str, result: Any) -> None:
        """Send an answer; an editor of another kind overrides it."""
        await self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _show(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "textDocument/publishDiagnostics":
                self.shown.diagnostics[params["uri"]] = params["diagnostics"]
            case "$/progress":
                self.shown.progress.setdefault(str(params["token"]), []).append(params["value"])
            case "window/showMessage":
                self.shown.messages.append(params)
            case "window/logMessage":
                self.shown.log.append(params)
            case "agent/update":
                self.shown.updates += params["updates"]
            case _:
                pass

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


def _code_points(line: str, units: int, encoding: str) -> int:
    """Return how many code points of a line its first ``units`` are."""
    passed = 0
    for index, character in enumerate(line):
        if passed >= units:
            return index
        passed += _units(character, encoding)
    return len(line)


def _units(text: str, encoding: str) -> int:
    match encoding:
        case "utf-8":
            return len(text.encode())
        case "utf-32":
            return len(text)
        case _:
            return len(text.encode("utf-16-le")) // 2


def _common_ends(before: str, after: str) -> tuple[int, int]:
    """Return how many characters two texts share at their start and, beyond that, at their end."""
    limit = min(len(before), len(after))
    start = 0
    while start < limit and before[start] == after[start]:
        start += 1
    end = 0
    while end < limit - start and before[-1 - end] == after[-1 - end]:
        end += 1
    # A line end is not cut in two.
    if start and before[start - 1] == "\r":
        start -= 1
    if end and before[len(before) - end] == "\n":
        end -= 1
    return start, end


def _language_of(path: str) -> str:
    names = {".py": "python", ".ts": "typescript", ".tsx": "typescriptreact", ".js": "javascript"}
    return names.get(Path(path).suffix, "plaintext")
