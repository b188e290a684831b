"""The client's messages on two descriptors: one JSON object a line.

Reads and writes on threads of its own, so that any kind of pipe or file works.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, cast

from agent_ls.processes.stdio import Pipes

_log = logging.getLogger(__name__)

_MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_PARSE_ERROR: Final = {"code": -32700, "message": "This line is not JSON."}
_INVALID_REQUEST: Final = {"code": -32600, "message": "A message is one JSON object on one line."}


class StdioTransport:
    """The package's ``Transport`` over the private descriptors of standard input and output."""

    def __init__(self, pipes: Pipes) -> None:
        """Start to read. Must be called on the event loop."""
        self._pipes = pipes
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="acp-writer")
        threading.Thread(target=self._read, name="acp-reader", daemon=True).start()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end. A line that is no message is answered here."""
        while line := await self._lines.get():
            error = _INVALID_REQUEST
            try:
                message: object = json.loads(line)
                if isinstance(message, dict):
                    return cast("dict[str, Any]", message)
            except (ValueError, RecursionError):
                error = _PARSE_ERROR
            if line.strip():
                await self.send({"jsonrpc": "2.0", "id": None, "error": error})
        return None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write a message. Errors: ``ConnectionError`` when the client has closed the pipe."""
        # Half of a surrogate pair is no JSON for many readers, so it becomes a question mark.
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=str)
        data = text.encode("utf-8", "replace") + b"\n"
        try:
            await self._loop.run_in_executor(self._writer, self._write, data)
        except (OSError, RuntimeError) as error:
            raise ConnectionError(f"the client does not read any more: {error}") from error

    async def close(self) -> None:
        """Send no more; do not wait for a client that does not read."""
        self._writer.shutdown(wait=False, cancel_futures=True)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._pipes.outgoing, data) :]

    def _read(self) -> None:
        # RuntimeError: the event loop was closed meanwhile.
        with contextlib.suppress(RuntimeError):
            with os.fdopen(self._pipes.incoming, "rb") as stream, contextlib.suppress(OSError):
                while line := stream.readline(_MAX_LINE_BYTES):
                    if len(line) == _MAX_LINE_BYTES:
                        _log.error("the client sent a message of more than 64 MiB; giving up")
                        break
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, b"")
