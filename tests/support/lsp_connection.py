"""The connection of ``client``: a server process, requests both ways, and what it showed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_HEADER = re.compile(rb"Content-Length: (\d+)\r\n\Z")
_METHOD_NOT_FOUND = -32601
_STOP_S = 20.0


class ServerError(Exception):
    """The server answered a request with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message')} ({error.get('code')})")
        self.code = error.get("code")
        self.data = error.get("data")


class NotLsp(Exception):
    """The server wrote something to its standard output that is no LSP message."""


@dataclass
class Shown:
    """Everything the server has shown so far."""

    diagnostics: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict[str, list[dict[str, Any]]]
    )
    progress: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict[str, list[dict[str, Any]]]
    )
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    log: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    updates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """From ``agent/update``, of all sessions, in order."""
    edits: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Every received ``workspace/applyEdit``."""
    errors: list[str] = field(default_factory=list[str])
    """Answers to no request of ours, and defects of this client."""


class LspConnection(ABC):
    """A client's connection to one server process."""

    def __init__(self) -> None:
        self.shown = Shown()
        self._process: asyncio.subprocess.Process | None = None
        self._ids = itertools.count(1)
        self._asked: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._failure: Exception | None = None

    @abstractmethod
    async def answer(self, method: str, params: Any) -> Any:
        """Return the answer to a request of the server.

        Errors: ``LookupError`` for a method this editor does not know.
        """

    async def spawn(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
    ) -> None:
        """Start the server's process; its stderr goes to ``log``."""
        with log.open("ab") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                cwd=cwd,
                env=dict(env),
                # Editors take messages of any size; asyncio's default limit is 64 KiB.
                limit=64 * 2**20,
            )
        self._reading = asyncio.create_task(self._read())

    async def stop(self) -> int:
        """Shut the server down and return its exit code; kill it if it does not end."""
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

    async def request(self, method: str, params: Any, timeout_s: float = 90) -> Any:
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

    async def until(self, what: Callable[[], T | None], timeout_s: float = 90, why: str = "") -> T:
        """Wait until ``what`` returns something; checked after every message.

        Errors: ``TimeoutError`` with ``why``.
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
                    # Mark it retrieved: perhaps nobody waits for it any more.
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
        """Send an answer; override it for another kind of editor."""
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
