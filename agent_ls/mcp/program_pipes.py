"""The pipes to a tool server that is a program: starts it, limits its output, ends it."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import mcp_types as types
import psutil
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from agent_ls.mcp.frames import MAX_LINE_BYTES, Launch
from agent_ls.processes.launching import PipedProgram, Program, start_piped

_MAX_NOISE_LINES = 200
"""Lines on standard output that are no message, before the server is ended."""
_MAX_UNASKED = 5_000
"""Messages after our newest one, before the server is ended: it floods."""
_LAST_WORDS_BYTES = 2_000
_END_S = 0.5
_LAST_S = 0.1


class ProgramPipes:
    """A tool server's process, as the library's transport."""

    def __init__(self, launch: Launch, on_end: Callable[[], None]) -> None:
        self._launch = launch
        self._on_end = on_end
        self._unasked = 0
        self._program: Program | None = None
        self._words: deque[bytes] = deque()
        self.trouble = ""
        """Why we ended it early; empty: we did not."""

    @property
    def has_ended(self) -> bool:
        """Say whether the program has ended, even if its children still hold the pipes."""
        return self._program is not None and self._program.returncode is not None

    @property
    def last_words(self) -> str:
        """Return the newest line that it wrote to standard error; may be empty."""
        lines = b"".join(self._words).decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:300] if lines else ""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[TransportStreams]:
        """Start the program; end it, with all that it started, when the block ends."""
        launch = self._launch
        piped = await start_piped(
            launch.argv, cwd=Path(launch.cwd), env=launch.env, limit=MAX_LINE_BYTES
        )
        self._program = piped.program
        incoming_end, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, outgoing_end = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with incoming_end:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._receive(piped, incoming_end.send)
            self._on_end()

        async def send() -> None:
            async with outgoing_end:
                async for message in outgoing_end:
                    self._unasked = 0
                    data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    piped.stdin.write(data.encode() + b"\n")
                    with suppress(ConnectionError):
                        await piped.stdin.drain()

        async def watch_end() -> None:
            await piped.program.wait()
            # Read what it wrote last, but not for ever: its children may hold the pipe.
            await anyio.sleep(_LAST_S)
            self._on_end()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch_end)
            tasks.start_soon(receive)
            tasks.start_soon(send)
            tasks.start_soon(self._keep_words, piped)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(piped)
                tasks.cancel_scope.cancel()

    async def _receive(
        self,
        piped: PipedProgram,
        pass_on: Callable[[SessionMessage | Exception], Awaitable[None]],
    ) -> None:
        noise = 0
        while True:
            try:
                line = await piped.stdout.readline()
            except ValueError:
                self.trouble = f"it sent a message of over {MAX_LINE_BYTES:,} bytes"
                return
            if not line:
                return
            self._unasked += 1
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                noise += 1
                if noise > _MAX_NOISE_LINES:
                    self.trouble = "it writes to its standard output what is no message"
                    return
                continue
            if self._unasked > _MAX_UNASKED:
                self.trouble = "it floods us with messages that nothing asked for"
                return
            await pass_on(SessionMessage(message))

    async def _keep_words(self, piped: PipedProgram) -> None:
        while data := await piped.stderr.read(_LAST_WORDS_BYTES):
            self._words.append(data)
            while sum(map(len, self._words)) > 2 * _LAST_WORDS_BYTES:
                self._words.popleft()


async def _end(piped: PipedProgram) -> None:
    """Close the program's input; then end it and what it started, in its group or out of it."""
    descendants: list[psutil.Process] = []
    with suppress(psutil.Error):
        descendants = psutil.Process(piped.program.pid).children(recursive=True)
    piped.stdin.close()
    with anyio.move_on_after(_END_S):
        await piped.program.wait()
    await piped.end()
    for one in descendants:
        with suppress(psutil.Error, OSError):
            # psutil compares the start time, so a number that was given away is not hit.
            if one.is_running():
                os.kill(one.pid, signal.SIGKILL)
