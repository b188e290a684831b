"""An endpoint that answers its first requests with exactly given bytes, and later ones well."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Play = Callable[[asyncio.StreamWriter], Awaitable[None]]
"""Writes one answer; the connection is closed afterwards."""

SSE = "text/event-stream"


def head(
    status: int = 200, reason: str = "OK", *, kind: str = SSE, extra: Sequence[str] = ()
) -> bytes:
    """Return a response's head; the body ends when the connection is closed."""
    lines = [f"HTTP/1.1 {status} {reason}", f"Content-Type: {kind}", "Connection: close", *extra]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(status: int, body: str | bytes, *, kind: str = "application/json", **named: Any) -> bytes:
    """Return a response whose length is told."""
    data = body.encode() if isinstance(body, str) else body
    extra = [f"Content-Length: {len(data)}", *named.pop("extra", ())]
    return head(status, "Status", kind=kind, extra=extra, **named) + data


def error(message: str, **fields: object) -> str:
    """Return an error object as OpenAI's endpoints send it."""
    return json.dumps({"error": {"message": message, **fields}})


def data(value: object) -> bytes:
    """Return one server-sent event."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"data: {text}\n\n".encode()


def chunk(
    delta: object, finish: str | None = None, *, index: int | None = 0, **fields: object
) -> dict[str, object]:
    """Return a chunk of a streamed completion."""
    choice: dict[str, object] = {"delta": delta, "finish_reason": finish}
    if index is not None:
        choice["index"] = index
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "faulty",
        "choices": [choice],
        **fields,
    }


def said(text: str) -> bytes:
    return data(chunk({"role": "assistant", "content": text}))


def called(
    arguments: object, *, name: str | None = "write_file", index: int | None = 0, **fields: object
) -> bytes:
    """Return a piece of a tool call."""
    function: dict[str, object] = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    call: dict[str, object] = {"id": "call_1", "type": "function", "function": function, **fields}
    if index is not None:
        call["index"] = index
    return data(chunk({"tool_calls": [call]}))


def end(finish: str | None = "stop", usage: object | None = None) -> bytes:
    """Return the finish reason, the usage, and the end mark."""
    counted = usage if usage is not None else {"prompt_tokens": 9, "completion_tokens": 3}
    last = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": counted}
    return data(chunk({}, finish)) + data(last) + data("[DONE]")


@dataclass
class FaultyEndpoint:
    """Plays ``plays`` one request after the other, then good answers."""

    port: int
    plays: list[Play]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The bodies."""
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Names in lower case."""
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                await self._serve(reader, writer)
            finally:
                writer.close()
            await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw = await reader.readuntil(b"\r\n\r\n")
        lines = raw.decode("latin-1").split("\r\n")
        fields = [line.split(": ", 1) for line in lines[1:] if ": " in line]
        headers = {name.lower(): value for name, value in fields}
        self.paths.append(lines[0].split(" ")[1])
        self.headers.append(headers)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.requests.append(json.loads(body) if body else {})
        play = self.plays.pop(0) if self.plays else _fine
        await play(writer)
        await writer.drain()


async def _fine(writer: asyncio.StreamWriter) -> None:
    writer.write(head() + said("Fine.") + end())


def sends(*parts: bytes) -> Play:
    """Return what writes these bytes and closes; each part is a write of its own."""

    async def play(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return play


def resets(*parts: bytes) -> Play:
    """Return what writes these bytes and resets the connection."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(parts))
        await writer.drain()
        writer.transport.abort()

    return play


def hangs(*parts: bytes) -> Play:
    """Return what writes these bytes and then falls silent until the other side goes."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(parts))
        await writer.drain()
        await asyncio.Event().wait()

    return play


def drips(*parts: bytes, drop: bytes, every_s: float = 0.05) -> Play:
    """Return what writes these bytes and then the same few again and again."""

    async def play(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(parts))
        while not writer.is_closing():
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(every_s)

    return play


@dataclass
class Flood:
    """Writes a body that does not end, as fast as it is taken, and counts what went out."""

    head: bytes
    most_bytes: int = 100 * 2**20
    sent_bytes: int = 0

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        writer.write(self.head)
        part = b"x" * 65_536
        while self.sent_bytes < self.most_bytes and not writer.is_closing():
            writer.write(part)
            await writer.drain()
            self.sent_bytes += len(part)


@asynccontextmanager
async def faulty(
    port: int, plays: Sequence[Play], *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[FaultyEndpoint]:
    """Serve for the length of a block; port 0: any."""
    endpoint = FaultyEndpoint(port, list(plays))
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(endpoint.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", port, ssl=tls)
    endpoint.port = int(server.sockets[0].getsockname()[1])
    try:
        yield endpoint
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
