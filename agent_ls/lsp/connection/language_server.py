"""The server object that handlers are registered on, over one connection.

Owns starting and ending: the pipes, the event loop, the exit code.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from agent_ls.lsp.connection.clients import ClientProfile
from agent_ls.lsp.connection.documents import DocumentStore
from agent_ls.lsp.connection.frames import Fault, Message
from agent_ls.lsp.connection.protocol import AgentProtocol
from agent_ls.lsp.connection.stdio import FrameReader, FrameWriter, Outbox
from agent_ls.processes.stdio import Pipes

logger = logging.getLogger(__name__)

_CLOSING_S: Final = 1.0
"""Time limit for all `on_stop` callbacks together."""
_FLUSH_S: Final = 0.2
"""Time for the client to read the last messages."""
_SWITCH_S: Final = 0.0005
"""How long a thread may run while the event loop waits for the interpreter lock."""
_converter: Final = functools.cache(default_converter)
"""Compiles a function for each type at its first use: once for all servers of a process."""


Deliver = Callable[[Message | Fault], None]
Join = Callable[[Deliver, FrameWriter], tuple[Deliver, Outbox]]
"""Takes both ends of a connection, and returns those that the other side is to use."""


class AgentLanguageServer(LanguageServer):
    """A language server for one client, on pygls, with our protocol.

    `feature` and `command` register handlers as in pygls. Differences: command handlers get plain
    JSON values; handlers of custom methods get their registered type (`protocol.structure`), else
    plain JSON values; there are no thread handlers.
    """

    protocol: AgentProtocol  # pyright: ignore[reportIncompatibleVariableOverride] - set once

    def __init__(
        self,
        name: str,
        version: str,
        *,
        features: Mapping[str, Any] | None = None,
        commands: Sequence[str] = (),
        content_schemes: Sequence[str] = (),
        experimental: dict[str, Any] | None = None,
    ) -> None:
        """`features` (with options) and `commands` are announced; register handlers at any time.

        `content_schemes` are the schemes of `workspace/textDocumentContent`. `experimental` is
        announced unchanged.
        """
        self.features = dict(features or {})
        self.command_names = tuple(commands)
        self.content_schemes = tuple(content_schemes)
        self.experimental = experimental or {}
        self.on_stop: list[Callable[[], Awaitable[object]]] = []
        """Called concurrently when the connection has ended; together they have one second."""
        self.join: Join | None = None
        """Puts something between the client and the protocol."""
        self._stopped: asyncio.Future[int] | None = None
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - pygls leaves *args untyped
            name, version, protocol_cls=AgentProtocol, converter_factory=_converter
        )

    @property
    def documents(self) -> DocumentStore:
        """The open documents."""
        return self.protocol.documents

    @property
    def profile(self) -> ClientProfile:
        """What the client can do."""
        return self.protocol.profile

    async def ask_client(
        self, method: str, params: Any = None, *, timeout_s: float | None = None
    ) -> Any:
        """The client's typed answer to a request; see `AgentProtocol.ask_client`."""
        return await self.protocol.ask_client(method, params, timeout_s=timeout_s)

    def stop(self, code: int, reason: str = "") -> None:
        """Ends the connection; the first call sets the exit code."""
        if reason:
            logger.info("Stopping: %s", reason)
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(code)

    def run(self, pipes: Pipes) -> int:
        """Serves the client behind `pipes` until it leaves; returns the exit code.

        Does not wait for threads: end the process with `stdio.leave`.
        """
        loop = asyncio.new_event_loop()
        # Threads that load, write or parse yield to the loop sooner than after the default 5 ms.
        sys.setswitchinterval(_SWITCH_S)
        try:
            asyncio.set_event_loop(loop)
            if sys.platform == "linux" and sys.version_info < (3, 12) and _has_pidfd():
                # The older default starts a thread per child process, and the loop waits for it.
                watcher = asyncio.PidfdChildWatcher()
                watcher.attach_loop(loop)
                asyncio.set_child_watcher(watcher)  # pyright: ignore[reportDeprecated]
            return loop.run_until_complete(self.serve(pipes))
        finally:
            _abandon(loop)
            asyncio.set_event_loop(None)
            loop.close()

    async def serve(self, pipes: Pipes) -> int:
        """Serves the client until it leaves; returns the exit code."""
        loop = asyncio.get_running_loop()
        self._stopped = loop.create_future()

        def lost(reason: str) -> None:
            loop.call_soon_threadsafe(self.stop, 1, reason)

        writer = FrameWriter(pipes.outgoing, lost=lost)
        deliver, outbox = self.protocol.receive, writer
        if self.join is not None:
            deliver, outbox = self.join(deliver, writer)
        self.protocol.connect(outbox)
        FrameReader(pipes.incoming, deliver, self._input_ended).start()
        self._stop_on_signals(loop)
        code = await self._stopped
        self.protocol.disconnect()
        await self._close()
        if not writer.close(_FLUSH_S):
            logger.warning("The client did not read the last messages")
        return code

    def _input_ended(self) -> None:
        self.stop(0 if self.protocol.is_shutting_down else 1, "the client has closed the pipe")

    def _stop_on_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            # Windows' event loop has no signal handlers; there the default applies.
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, self.stop, 128 + number, f"signal {number}")

    async def _close(self) -> None:
        async def one(closing: Callable[[], Awaitable[object]]) -> None:
            try:
                await closing()
            except Exception:
                logger.exception("Something did not close cleanly")

        tasks = [asyncio.ensure_future(one(closing)) for closing in self.on_stop]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSING_S)
            for task in late:
                task.cancel()
                logger.warning("Something did not close within %g s", _CLOSING_S)


def _has_pidfd() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _abandon(loop: asyncio.AbstractEventLoop) -> None:
    """Cancels all tasks and gives them a moment to end."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_FLUSH_S))
    loop.run_until_complete(loop.shutdown_asyncgens())
