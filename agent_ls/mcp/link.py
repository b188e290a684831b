"""The server's end of the pipe to the host of tool-server sessions, which it starts and ends."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

import agent_ls
from agent_ls.loop.pausing import paused
from agent_ls.mcp.frames import MAX_LINE_BYTES, Asked, Failure, Order, Reply
from agent_ls.processes.launching import PipedProgram, start_piped
from agent_ls.safety.programs import child_path

_log = logging.getLogger(__name__)

_MODULE = "agent_ls.mcp.host"
_END_S = 2.0
_GRACE_S = 8.0
"""More than the host needs to load and to notice a time limit; after that it counts as hung."""
_ENVIRONMENT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "XDG_DATA_HOME", "TMPDIR"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)


Ask = Callable[[Asked], Awaitable[dict[str, JsonValue]]]
"""Asks the user what a server wants to know; returns the protocol's elicitation result."""
_DECLINED: dict[str, JsonValue] = {"action": "decline"}


class ServerFailed(Exception):
    """A tool server, or the host of its session, did not do what was asked."""

    def __init__(self, failure: Failure, text: str, tools: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(text)
        self.failure: Failure = failure
        self.text = text
        self.tools = tools


@dataclass(slots=True, eq=False)
class _Waiting:
    """An order without its answer."""

    server: str
    answer: asyncio.Future[Reply]
    limit: asyncio.Timeout
    on_page: Callable[[str], None]
    ask: Ask | None
    sent_to: PipedProgram | None = None
    """The host that has the order; None: none yet."""
    asking: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])


class HostLink:
    """Sends orders to the host; starts it with the first one, and again when it has ended."""

    def __init__(self) -> None:
        self._piped: PipedProgram | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Return the host's process id; None if none runs."""
        return self._piped.program.pid if self._piped else None

    async def ask(
        self,
        order: Order,
        on_page: Callable[[str], None] = _log.warning,
        ask: Ask | None = None,
    ) -> Reply:
        """Carry out an order, whose number is set here; cancelling the caller cancels it.

        ``ask`` asks the user for the server; without it everything is declined.
        Errors: ``ServerFailed``.
        """
        order = order.model_copy(update={"number": next(self._numbers)})
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        limit = asyncio.timeout(order.limit_s + _GRACE_S)
        waiting = _Waiting(order.server, answer, limit, on_page, ask)
        self._waiting[order.number] = waiting
        try:
            async with limit:
                await self._send(order, waiting)
                reply = await answer
        except TimeoutError:
            await self._end()
            raise ServerFailed("timeout", "the process that holds its session hung") from None
        except OSError as error:
            text = f"the process that holds its session cannot be started: {error}"
            raise ServerFailed("gone", text) from None
        finally:
            # Cancelling the caller cancels what it waits for.
            if not answer.done() or answer.cancelled():
                self._write(Order(number=order.number, op="cancel"))
            self._waiting.pop(order.number, None)
            if asking := list(waiting.asking):
                for task in asking:
                    task.cancel()
                await asyncio.wait(asking)
        if reply.failure is not None:
            raise ServerFailed(reply.failure, reply.text, reply.tools)
        return reply

    async def close(self) -> None:
        """End the host, and with it the servers; later orders fail."""
        self._is_closed = True
        async with self._starting:
            # A host that is just starting is ended, too.
            pass
        if self._piped is not None:
            self._piped.stdin.close()
            await asyncio.wait([asyncio.ensure_future(self._piped.program.wait())], timeout=_END_S)
        await self._end()

    async def _send(self, order: Order, waiting: _Waiting) -> None:
        async with self._starting:
            if self._is_closed:
                raise OSError("agent-ls is closing")
            if self._piped is None:
                self._piped = await self._started()
            waiting.sent_to = self._piped
            # Orders are small: they fit the pipe's buffer unless the host hangs.
            self._write(order)

    def _write(self, order: Order) -> None:
        if self._piped is not None and not self._piped.stdin.is_closing():
            self._piped.stdin.write(order.model_dump_json(exclude_defaults=True).encode() + b"\n")

    async def _put(self, number: int, waiting: _Waiting, asked: Asked) -> None:
        """Ask the user for the server, and send it the answer."""
        answer = _DECLINED
        if waiting.ask is not None:
            # Which of its calls waits for the answer is not known.
            of_server = [one for one in self._waiting.values() if one.server == waiting.server]
            try:
                with paused(*(one.limit for one in of_server)):
                    answer = await waiting.ask(asked)
            except Exception:
                # The server must not wait for an answer that never comes.
                _log.exception("the user could not be asked for a tool server")
        self._write(Order(number=number, op="answer", name=str(asked.id), arguments=answer))

    async def _started(self) -> PipedProgram:
        env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        env |= {"PATH": child_path(), "PYTHONPATH": str(Path(agent_ls.__file__).parent.parent)}
        # -P: import nothing from the current folder.
        command = [sys.executable, "-P", "-m", _MODULE]
        piped = await start_piped(command, cwd=None, env=env, limit=MAX_LINE_BYTES)
        self._reading = asyncio.ensure_future(self._read(piped))
        return piped

    async def _read(self, piped: PipedProgram) -> None:
        words = asyncio.ensure_future(_log_words(piped))
        try:
            with suppress(ValueError, ConnectionError):
                while line := await piped.stdout.readline():
                    reply = Reply.model_validate_json(line)
                    if (waiting := self._waiting.get(reply.number)) is not None:
                        self._take(reply, waiting)
        finally:
            words.cancel()
            if self._piped is piped:
                self._piped = None
            for number, waiting in self._waiting.items():
                if waiting.sent_to is piped and not waiting.answer.done():
                    text = "the process that holds its session ended"
                    waiting.answer.set_result(Reply(number=number, failure="gone", text=text))
            await asyncio.shield(asyncio.ensure_future(piped.end()))

    def _take(self, reply: Reply, waiting: _Waiting) -> None:
        if reply.page:
            waiting.on_page(reply.page)
        elif reply.asked is not None:
            task = asyncio.ensure_future(self._put(reply.number, waiting, reply.asked))
            waiting.asking.add(task)
            task.add_done_callback(waiting.asking.discard)
        elif not waiting.answer.done():
            waiting.answer.set_result(reply)

    async def _end(self) -> None:
        piped, self._piped = self._piped, None
        # Meanwhile another order may start the next host, which has a reader of its own.
        reading, self._reading = self._reading, None
        if piped is not None:
            await asyncio.shield(asyncio.ensure_future(piped.end()))
        if reading is not None:
            with suppress(asyncio.CancelledError):
                await reading


async def _log_words(piped: PipedProgram) -> None:
    while line := await piped.stderr.readline():
        _log.debug("tool servers: %s", line.decode(errors="replace").rstrip())
