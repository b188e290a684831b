"""One connection to a scripted model: HTTP in, answers out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable, Mapping

from agent_ls.providers.scenario import Answer, ScriptedError, ScriptedUsage
from agent_ls.providers.scripted_chat import Reply, dumps
from agent_ls.providers.scripted_requests import RecordedRequest
from agent_ls.providers.shapes import as_object

Take = Callable[[RecordedRequest], Awaitable[Answer | None]]
"""Records a request and returns its answer; None if the request breaks the scenario."""


class WatchedConnection(asyncio.StreamReaderProtocol):
    """Sets ``left`` when the client disconnects, which a stream reader does not report."""

    def __init__(
        self,
        left: asyncio.Event,
        connected: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None],
    ) -> None:
        super().__init__(asyncio.StreamReader(), connected)
        self._left = left

    def eof_received(self) -> bool | None:
        """Note that the client closed its side."""
        self._left.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection ended."""
        self._left.set()
        super().connection_lost(exc)


class _ClientLeft(Exception):
    """The client closed the connection."""


class Conversation:
    """One connection: reads requests and writes answers, one after the other."""

    def __init__(
        self,
        model: str,
        take: Take,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        left: asyncio.Event,
    ) -> None:
        self._model = model
        self._take = take
        self._reader = reader
        self._writer = writer
        self._left = left
        # Nagle's algorithm would hold small pieces back.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self) -> None:
        """Serve until the connection ends; never raises."""
        try:
            while await self._serve_one():
                pass
        except (asyncio.IncompleteReadError, ConnectionError, _ClientLeft):
            pass
        finally:
            self._writer.close()

    async def _serve_one(self) -> bool:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        pairs = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        raw = await self._reader.readexactly(int(headers.get("content-length") or 0))
        route = path.split("?")[0].rstrip("/")
        if method == "GET" and route.endswith("/models"):
            entry = {"id": self._model, "object": "model", "owned_by": "agent-ls"}
            return await self._send(200, {"object": "list", "data": [entry]})
        if method != "POST" or not route.endswith("/chat/completions"):
            return await self._refuse(ScriptedError(status=404, message=f"no such path: {path}"))
        try:
            body = json.loads(raw)
        except ValueError as error:
            return await self._refuse(ScriptedError(status=400, message=f"not JSON: {error}"))
        return await self._answer(RecordedRequest(path, headers, raw, as_object(body)))

    async def _answer(self, request: RecordedRequest) -> bool:
        answer = await self._take(request)
        try:
            if answer is None:
                problem = f"scripted model: {request.problem}"
                return await self._refuse(ScriptedError(status=400, message=problem))
            await self._pause(answer.delay_ms or 0)
            if answer.hang == "before":
                await self._silence()
            if answer.error:
                return await self._refuse(answer.error)
            return await self._stream(answer, request)
        except (_ClientLeft, ConnectionError):
            request.left.set()
            raise

    async def _stream(self, answer: Answer, request: RecordedRequest) -> bool:
        options = as_object(request.body.get("stream_options"))
        reply = Reply(
            answer=answer,
            usage=answer.usage or _estimate(answer, request),
            serial=request.serial,
            model=str(request.body.get("model") or self._model),
            wants_usage=bool(options.get("include_usage")),
        )
        self._writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        events = list(reply.stream())
        for count, event in enumerate(events):
            if count == answer.cut_after:
                await self._writer.drain()
                return False
            if answer.hang == "middle" and count == len(events) // 2:
                await self._silence()
            self._writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await self._pause(answer.between_ms or 0)
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
        return True

    async def _refuse(self, error: ScriptedError) -> bool:
        headers: dict[str, str] = {}
        if error.retry_after_s is not None:
            headers["retry-after"] = f"{error.retry_after_s:g}"
        words = {"message": error.message, "type": "scripted_error", "code": error.code}
        return await self._send(error.status, {"error": words}, headers)

    async def _send(
        self, status: int, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> bool:
        data = dumps(body).encode()
        lines = [f"HTTP/1.1 {status} Scripted", "content-type: application/json"]
        lines += [f"content-length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        self._writer.write("\r\n".join(lines).encode("latin1") + b"\r\n\r\n" + data)
        await self._writer.drain()
        return True

    async def _pause(self, duration_ms: int) -> None:
        if self._left.is_set():
            raise _ClientLeft
        if duration_ms:
            await self._writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._left.wait(), duration_ms / 1000)
                raise _ClientLeft

    async def _silence(self) -> None:
        await self._writer.drain()
        await self._left.wait()
        raise _ClientLeft


def _estimate(answer: Answer, request: RecordedRequest) -> ScriptedUsage:
    said = len(answer.text) + len(answer.reasoning) + sum(len(call.text) for call in answer.call)
    sent = len(request.raw) - sum(map(len, request.images))
    return ScriptedUsage(input=max(1, sent // 4), output=max(1, said // 4))
