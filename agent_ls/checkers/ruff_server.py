"""Keep ``ruff server`` running, so that a check does not start a program.

It runs in the same view as the command, and answers only for files whose configuration it has read
since that last changed. For all others the caller runs the command.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_ls.checkers.process import start_server
from agent_ls.checkers.ruff_settings import RuffSettings
from agent_ls.loop.shielding import settled
from agent_ls.processes.launching import PipedProgram
from agent_ls.safety.sandbox.builder import SandboxBuilder

_log = logging.getLogger(__name__)

_START_S = 0.1
"""How long a check waits for a new server before it runs the command instead."""
_MAX_SERVERS = 4
_MAX_FAILURES = 3
_MAX_ANSWER_BYTES = 64 * 2**20
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_INDEXED = re.compile(
    r"^indexed_configuration_files = \[(?:\]|\n(.*?)^\])", re.DOTALL | re.MULTILINE
)
_BROKEN = (OSError, EOFError, ValueError, KeyError, TypeError, TimeoutError)

Diagnostic = dict[str, Any]
"""As LSP has it, with columns in code points."""


@dataclass(frozen=True, slots=True)
class ServerStart:
    """How a server is started. Another value needs another server."""

    program: Path
    program_identity: tuple[int, int]
    folder: Path
    folder_number: int
    """Its inode: a view holds the folder that had the name when it began."""
    env_path: str
    options: str
    """The ``settings`` that it is initialised with, as JSON."""


@dataclass(frozen=True, slots=True)
class AskedText:
    """A text to check, and the configuration that counts for its file."""

    file: Path
    text: str
    settings: RuffSettings


@dataclass(frozen=True, slots=True)
class RuffServers:
    """The running servers, one for each folder and set of options. ``end`` them."""

    builder: SandboxBuilder | None
    timeout_s: float
    """For the start, and for one text."""
    _running: dict[tuple[Path, str], _Server] = field(
        default_factory=dict[tuple[Path, str], "_Server"], init=False, repr=False
    )
    _over: list[_Server] = field(default_factory=list["_Server"], init=False, repr=False)
    """Servers that failed or still end."""

    async def diagnostics(
        self, start: ServerStart, asked: Sequence[AskedText]
    ) -> list[list[Diagnostic] | None]:
        """Return what the server finds in each text; None where it cannot tell. Never raises."""
        unknown: list[list[Diagnostic] | None] = [None] * len(asked)
        certain = [one for one in asked if one.settings.is_certain]
        server = self._server(start, certain) if certain else None
        if server is None or not await server.is_ready_within(_START_S):
            return unknown
        fit = [number for number, one in enumerate(asked) if server.knows(one)]
        # Shielded: what is asked and not read would be in the way of the next answer.
        found = await settled(server.diagnostics([asked[number] for number in fit]))
        for number, diagnostics in zip(fit, found, strict=True):
            unknown[number] = diagnostics
        return unknown

    async def end(self) -> None:
        """End all servers."""
        ending = [*self._running.values(), *self._over]
        self._running.clear()
        await asyncio.gather(*(server.end() for server in ending))

    def _server(self, start: ServerStart, asked: Sequence[AskedText]) -> _Server | None:
        """Return the server for these texts, a new one if need be; None: use the command."""
        key = (start.folder, start.options)
        server = self._running.get(key)
        newest = max((one.settings.changed_ns for one in asked), default=0)
        if server is not None and (
            server.is_over
            or server.start != start
            or server.started_ns <= newest
            or any(map(server.has_outdated, asked))
        ):
            server.leave()
            self._over.append(self._running.pop(key))
            self._over[:] = [one for one in self._over if one.has_failed or not one.has_ended]
            server = None
        if server is None and newest < time.time_ns():
            failures = sum(one.has_failed for one in self._over)
            if failures < _MAX_FAILURES and len(self._running) < _MAX_SERVERS:
                server = self._running[key] = _Server(start, self.builder, self.timeout_s)
        return server


class _Server:
    """One process, from its start to its end."""

    def __init__(
        self, start: ServerStart, builder: SandboxBuilder | None, timeout_s: float
    ) -> None:
        self.start = start
        self.started_ns = time.time_ns()
        self.has_failed = False
        self._builder = builder
        self._timeout_s = timeout_s
        self._indexed: dict[Path, Path] = {}
        """Configurations that it has read, by folder."""
        self._number = 0
        self._piped: PipedProgram | None = None
        self._one_at_a_time = asyncio.Lock()
        self._ready = asyncio.Event()
        self._is_left = False
        self._life = asyncio.create_task(self._live())

    @property
    def is_over(self) -> bool:
        """Say whether it answers no more."""
        return self._life.done() or self._is_left

    @property
    def has_ended(self) -> bool:
        """Say whether nothing of it is left."""
        return self._life.done()

    def leave(self) -> None:
        """End it, without waiting for that."""
        self._is_left = True
        self._life.cancel()

    async def end(self) -> None:
        """End it, and wait for that."""
        self.leave()
        await asyncio.wait([self._life])

    async def is_ready_within(self, seconds: float) -> bool:
        """Wait at most so long; tell whether it answers."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ready.wait()
        return self._ready.is_set() and not self.is_over

    def knows(self, asked: AskedText) -> bool:
        """Tell whether it has read just the configuration that counts for this text."""
        # Its columns count a byte order mark, those of the command do not.
        is_plain = asked.settings.is_certain and not asked.text.startswith("\ufeff")
        return is_plain and self._nearest(asked.file) == asked.settings.path

    def has_outdated(self, asked: AskedText) -> bool:
        """Tell whether it uses a configuration for this file that is there no more."""
        nearest, settings = self._nearest(asked.file), asked.settings.path
        if nearest is None or nearest == settings:
            return False
        return settings is None or nearest.parent.is_relative_to(settings.parent)

    def _nearest(self, file: Path) -> Path | None:
        return next((self._indexed[one] for one in file.parents if one in self._indexed), None)

    async def diagnostics(self, asked: Sequence[AskedText]) -> list[list[Diagnostic] | None]:
        """Return what it finds in each text; None where it failed."""
        found = dict[int, list[Diagnostic]]()
        async with self._one_at_a_time:
            piped = self._piped
            if piped is None or self.is_over:
                return [None] * len(asked)
            numbers = [self._ask_about(piped, one) for one in asked]
            waiting = set(numbers)
            try:
                while waiting:
                    # In any order: it has several threads.
                    answer = await self._answer(piped, waiting)
                    waiting.remove(answer["id"])
                    if "result" in answer:
                        found[answer["id"]] = answer["result"]["items"]
            except _BROKEN as error:
                self._fail(error)
        return [found.get(number) for number in numbers]

    def _ask_about(self, piped: PipedProgram, asked: AskedText) -> int:
        uri = asked.file.as_uri()
        # A lone surrogate is no JSON that ruff accepts; the replacement keeps the columns.
        text = asked.text.encode(errors="replace").decode()
        document = {"uri": uri, "languageId": "python", "version": 0, "text": text}
        _send(piped, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        named = {"textDocument": {"uri": uri}}
        number = self._request(piped, "textDocument/diagnostic", named)
        _send(piped, {"method": "textDocument/didClose", "params": named})
        return number

    async def _live(self) -> None:
        start, command = self.start, (self.start.program, "server")
        try:
            async with start_server(
                command, cwd=start.folder, path=start.env_path, builder=self._builder
            ) as piped:
                await self._begin(piped)
                self._piped = piped
                self._ready.set()
                await piped.program.wait()
                self._fail(EOFError("it ended by itself"))
        except _BROKEN as error:
            self._fail(error)
        finally:
            self._piped = None
            self._ready.set()

    async def _begin(self, piped: PipedProgram) -> None:
        """Initialise the server, and ask which configurations it has read."""
        folder = {"uri": self.start.folder.as_uri(), "name": self.start.folder.name}
        capabilities: dict[str, Any] = {
            "general": {"positionEncodings": ["utf-32"]},
            "textDocument": {"diagnostic": {}},
        }
        number = self._request(
            piped,
            "initialize",
            {
                "processId": None,
                "rootUri": folder["uri"],
                "workspaceFolders": [folder],
                "capabilities": capabilities,
                "initializationOptions": {"settings": json.loads(self.start.options)},
            },
        )
        can = (await self._answer(piped, {number}))["result"]["capabilities"]
        if can["positionEncoding"] != "utf-32" or not can["diagnosticProvider"]:
            raise ValueError("it is too old")
        _send(piped, {"method": "initialized", "params": {}})
        command: dict[str, Any] = {"command": "ruff.printDebugInformation", "arguments": []}
        number = self._request(piped, "workspace/executeCommand", command)
        said = _INDEXED.search((await self._answer(piped, {number}))["result"])
        if said is None:
            raise ValueError("it does not say which configurations it has read")
        paths = [Path(json.loads(line.strip(" ,"))) for line in (said[1] or "").splitlines()]
        self._indexed = {path.parent: path for path in paths}

    def _request(self, piped: PipedProgram, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        _send(piped, {"id": self._number, "method": method, "params": params})
        return self._number

    async def _answer(self, piped: PipedProgram, numbers: Container[Any]) -> dict[str, Any]:
        """Return the next answer to one of these requests; other messages need none."""
        async with asyncio.timeout(self._timeout_s):
            while True:
                message = await _received(piped.stdout)
                if message.get("id") in numbers and "method" not in message:
                    return message

    def _fail(self, error: Exception) -> None:
        if not self._is_left:
            self.has_failed = True
            _log.info("ruff server failed in %s: %r", self.start.folder, error)
        self.leave()


def _send(piped: PipedProgram, message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    piped.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


async def _received(stdout: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next message. Errors: one of ``_BROKEN``."""
    size = 0
    while line := (await stdout.readline()).strip():
        if found := _LENGTH.fullmatch(line):
            size = int(found[1])
    if not 0 < size <= _MAX_ANSWER_BYTES:
        raise EOFError("it closed its output, or answers without end")
    message: dict[str, Any] = json.loads(await stdout.readexactly(size))
    return message
