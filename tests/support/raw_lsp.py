"""A JSON-RPC client that says exactly what a test wants said, good or bad.

It speaks to a real server process over its pipes and shares no code with the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

DEFAULT_WAIT_S = 60.0


class RawClient:
    """One server process and what it has sent so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.received: list[dict[str, Any]] = []
        """Every message of the server that was read, in order."""
        self.stray = b""
        """Bytes on the server's stdout that belong to no frame."""
        self.stderr = b""
        self._arrived = asyncio.Condition()
        self._next_id = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._may_read = asyncio.Event()
        self._may_read.set()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: Any = None) -> int:
        """Sends a request and answers its id."""
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    async def answer(self, message_id: Any, wait_s: float = DEFAULT_WAIT_S) -> dict[str, Any]:
        return await self.wait_for(
            lambda m: "method" not in m and "id" in m and m["id"] == message_id, wait_s
        )

    async def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        """Sends a request and waits for its answer."""
        return await self.answer(self.start(method, params))

    async def asked(self, method: str, count: int = 1) -> dict[str, Any]:
        """Waits until the server has sent that method so often, and answers the last one."""
        await self.wait_for(lambda _: len(self.of(method)) >= count)
        return self.of(method)[count - 1]

    def of(self, method: str) -> list[dict[str, Any]]:
        return [m for m in self.received if m.get("method") == method]

    async def told(self, *texts: bytes, wait_s: float = DEFAULT_WAIT_S) -> None:
        """Waits until all of these have been written to stderr."""
        async with asyncio.timeout(wait_s), self._arrived:
            await self._arrived.wait_for(lambda: all(text in self.stderr for text in texts))

    async def wait_for(
        self,
        fits: Callable[[dict[str, Any]], bool],
        wait_s: float = DEFAULT_WAIT_S,
        since: int = 0,
    ) -> dict[str, Any]:
        """The first message from number `since` on, seen already or yet to come, that fits."""
        seen = since
        try:
            async with asyncio.timeout(wait_s), self._arrived:
                while True:
                    for message in self.received[seen:]:
                        if fits(message):
                            return message
                    seen = len(self.received)
                    await self._arrived.wait()
        except TimeoutError:
            told = self.stderr.decode(errors="replace")[-4000:]
            raise AssertionError(f"nothing fits in {self.received[-20:]}\nstderr: {told}") from None

    async def initialize(
        self, capabilities: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities or {}}
        answer = await self.ask("initialize", {**params, **more})
        self.notify("initialized", {})
        return answer

    def stop_reading(self) -> None:
        self._may_read.clear()

    def read_again(self) -> None:
        self._may_read.set()

    async def leave(self) -> int:
        """Says goodbye as the protocol asks for; the answer is the exit code."""
        await self.ask("shutdown")
        self.notify("exit")
        return await asyncio.wait_for(self.process.wait(), DEFAULT_WAIT_S)

    async def _read_frames(self) -> None:
        assert self.process.stdout is not None
        buffer = b""
        while data := await self.process.stdout.read(65536):
            buffer += data
            while (end := buffer.find(b"\r\n\r\n")) >= 0:
                head, _, digits = buffer[:end].rpartition(b"Content-Length: ")
                if not digits.isdigit():
                    break
                stop = end + 4 + int(digits)
                if len(buffer) < stop:
                    break
                self.stray += head
                async with self._arrived:
                    self.received.append(json.loads(buffer[end + 4 : stop]))
                    self._arrived.notify_all()
                buffer = buffer[stop:]
                await self._may_read.wait()
        self.stray += buffer

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            async with self._arrived:
                self.stderr += data
                self._arrived.notify_all()


@asynccontextmanager
async def raw_client(
    *command: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[RawClient]:
    """A server process started with `command` (a Python script, or `-m` and a module)."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    client = RawClient(process)
    client._tasks = [
        asyncio.create_task(client._read_frames()),
        asyncio.create_task(client._read_errors()),
    ]
    try:
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        client.read_again()
        await asyncio.gather(*client._tasks)
