"""The server's end of the pipe to the host of tool-server sessions, which it starts and ends."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import agent_ls
from agent_ls.mcp.frames import MAX_LINE_BYTES, Failure, Order, Reply
from agent_ls.processes.launching import PipedProgram, start_piped
from agent_ls.safety.programs import child_path

_log = logging.getLogger(__name__)

_MODULE = "agent_ls.mcp.host"
_END_S = 2.0
_GRACE_S = 8.0
"""More than the host needs to load and to notice a time limit; after it, it hangs."""
_ENVIRONMENT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "XDG_DATA_HOME", "TMPDIR"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)


class ServerFailed(Exception):
    """A tool server, or the host of its session, did not do what was asked."""

    def __init__(self, failure: Failure, text: str, tools: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(text)
        self.failure: Failure = failure
        self.text = text
        self.tools = tools


class HostLink:
    """Sends orders to the host; starts it with the first one, and again when it has ended."""

    def __init__(self) -> None:
        self._piped: PipedProgram | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._on_page: dict[int, Callable[[str], None]] = {}
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Return the host's process id; None if none runs."""
        return self._piped.program.pid if self._piped else None

    async def ask(self, order: Order, on_page: Callable[[str], None] | None = None) -> Reply:
        """Carry out an order, whose number is set here; cancelling the caller cancels it.

        Errors: ``ServerFailed``.
        """
        order = order.model_copy(update={"number": next(self._numbers)})
        answer = asyncio.get_running_loop().create_future()
        self._waiting[order.number] = answer
        if on_page is not None:
            self._on_page[order.number] = on_page
        try:
            async with asyncio.timeout(order.limit_s + _GRACE_S):
                await self._send(order)
                reply: Reply = await answer
        except TimeoutError:
            await self._end()
            raise ServerFailed("timeout", "the process that holds its session hung") from None
        except OSError as error:
            text = f"the process that holds its session cannot be started: {error}"
            raise ServerFailed("gone", text) from None
        finally:
            if not answer.done():
                self._cancel(order.number)
            self._waiting.pop(order.number, None)
            self._on_page.pop(order.number, None)
        if reply.failure is not None:
            raise ServerFailed(reply.failure, reply.text, reply.tools)
        return reply

    async def close(self) -> None:
        """End the host, and with it the servers; later orders fail."""
        self._is_closed = True
        if self._piped is not None:
            self._piped.stdin.close()
            await asyncio.wait([asyncio.ensure_future(self._piped.program.wait())], timeout=_END_S)
        await self._end()

    async def _send(self, order: Order) -> None:
        async with self._starting:
            if self._is_closed:
                raise OSError("agent-ls is closing")
            if self._piped is None:
                self._piped = await self._started()
        # Orders are small: they fit the pipe's buffer unless the host hangs.
        self._piped.stdin.write(order.model_dump_json(exclude_defaults=True).encode() + b"\n")

    def _cancel(self, number: int) -> None:
        if self._piped is not None and not self._piped.stdin.is_closing():
            order = Order(number=number, op="cancel")
            self._piped.stdin.write(order.model_dump_json().encode() + b"\n")

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
                    answer = self._waiting.get(reply.number)
                    if reply.page:
                        self._on_page.get(reply.number, _log.warning)(reply.page)
                    elif answer is not None and not answer.done():
                        answer.set_result(reply)
        finally:
            words.cancel()
            if self._piped is piped:
                self._piped = None
            for number, answer in self._waiting.items():
                if not answer.done():
                    text = "the process that holds its session ended"
                    answer.set_result(Reply(number=number, failure="gone", text=text))
            await asyncio.shield(asyncio.ensure_future(piped.end()))

    async def _end(self) -> None:
        piped, self._piped = self._piped, None
        if piped is not None:
            await asyncio.shield(asyncio.ensure_future(piped.end()))
        if self._reading is not None:
            with suppress(asyncio.CancelledError):
                await self._reading


async def _log_words(piped: PipedProgram) -> None:
    while line := await piped.stderr.readline():
        _log.debug("tool servers: %s", line.decode(errors="replace").rstrip())
