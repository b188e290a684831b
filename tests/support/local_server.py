"""A server on this machine that answers each path with a fixed status and body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.faulty import whole

Answers = Mapping[str, tuple[int, str]]


@dataclass
class LocalServer:
    """Answers every other path with 404, as Ollama does."""

    answers: Answers
    port: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Method and path of each request."""
    keys: list[str] = field(default_factory=list[str])
    """What each request had as ``Authorization``."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
        await reader.readexactly(int(fields.get("content-length", "0")))
        method, path, _ = head[0].split(" ")
        self.asked.append((method, path))
        self.keys.append(fields.get("authorization", ""))
        status, body = self.answers.get(path, (404, "404 page not found"))
        kind = "text/html" if body.startswith("<") else "application/json"
        writer.write(whole(status, body, kind=kind, extra=["Connection: close"]))
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(answers: Answers) -> AsyncIterator[LocalServer]:
    """Serve for the length of a block."""
    found = LocalServer(answers)
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.port = int(server.sockets[0].getsockname()[1])
    try:
        yield found
    finally:
        server.close()
