"""The host of tool-server sessions: a child process, the only one that loads the MCP library.

So its import, its tasks and what a server sends cost the editor nothing. It carries out orders,
decides nothing, and ends with the server, as do the programs it started. ``link`` starts it as
``python -m agent_ls.mcp.host``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl

from agent_ls import __version__
from agent_ls.mcp.definitions import digest_of
from agent_ls.mcp.frames import MAX_IMAGES_BYTES, MAX_LINE_BYTES, Failure, Launch, Order, Reply
from agent_ls.mcp.http_pipes import HttpPipes
from agent_ls.mcp.plain_tools import RawTools
from agent_ls.mcp.program_pipes import ProgramPipes
from agent_ls.processes.sealing import seal
from agent_ls.safety.keys import without_keys

_LOOK_AGAIN_S = 30.0
"""A server need not tell that its definitions changed, so they are looked at again."""
_CLOSE_S = 1.5
_NO_SESSION = "Session terminated"
"""The library's words for a remote server that forgot the session: another one is opened."""
_MAX_NAMED = 20
"""Resources named when another one is not there."""
_MAX_PAGES = 50
_MAX_LISTED = 1_000
_PROMPT_KEYS = ("name", "description", "arguments")
_KEYS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What counts of a definition; the rest is for drawing it."""


class OrderFailed(Exception):
    """Why an order could not be carried out."""

    def __init__(self, failure: Failure, text: str, tools: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(text)
        self.failure: Failure = failure
        self.text = text
        self.tools = tuple(tools)


class Connection:
    """A session with one server, from its start to its end."""

    def __init__(self, launch: Launch, on_page: Callable[[str], None] | None = None) -> None:
        self._over = asyncio.Event()
        self._pipes = (
            HttpPipes(launch, on_page) if launch.url else ProgramPipes(launch, self._over.set)
        )
        self._roots = launch.roots
        self._secrets = launch.secrets
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._is_changed = True
        self._listed_s = 0.0
        self._raw = RawTools()
        self._listing = asyncio.Lock()
        self.tools: list[dict[str, Any]] = []
        self._task = asyncio.ensure_future(self._live())

    def without_secrets(self, text: str) -> str:
        """Return the text without the keys that the server is reached with."""
        return without_keys(text, self._secrets)

    @property
    def is_remote(self) -> bool:
        """Say whether it is reached over the network, which may fail without an end."""
        return isinstance(self._pipes, HttpPipes)

    @property
    def trouble(self) -> str:
        """Return what we know of its trouble; may be empty."""
        return self._pipes.trouble

    @property
    def is_over(self) -> bool:
        """Say whether the server ended or is ending."""
        return self._over.is_set() or self._task.done() or self._pipes.has_ended

    async def look(self) -> list[dict[str, Any]]:
        """Return the definitions of its tools, asked for again when they may have changed."""
        client = await asyncio.shield(self._client)
        # Two answers at once would take each other's tools.
        async with self._listing:
            return await self._looked(client)

    async def _looked(self, client: Client) -> list[dict[str, Any]]:
        if not self._is_changed and time.monotonic() - self._listed_s < _LOOK_AGAIN_S:
            return self.tools
        self._is_changed = False
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in self._raw.take():
                found.append({key: tool[key] for key in _KEYS if tool.get(key) is not None})
            cursor = page.next_cursor
            if not cursor or len(found) > _MAX_LISTED:
                break
        self.tools, self._listed_s = found[:_MAX_LISTED], time.monotonic()
        return self.tools

    async def call(self, order: Order) -> Reply:
        """Call a tool, unless the definitions are not those that the person approved."""
        tools = await self.look()
        if digest_of(tools) != order.pinned:
            raise OrderFailed("changed", "its tools changed", tools)
        client = await self._client
        result = await client.call_tool(order.name, dict(order.arguments))
        return Reply(
            number=order.number,
            text=_rendered(result, order.max_bytes),
            is_error=result.is_error,
            images=tuple(_images(result)),
        )

    async def prompts(self) -> list[dict[str, Any]]:
        """Return the prompts that it offers; none if it has no idea of prompts."""
        client = await asyncio.shield(self._client)
        if client.server_capabilities.prompts is None:
            return []
        page = await client.list_prompts()
        dumped = (one.model_dump(mode="json", by_alias=True) for one in page.prompts)
        return [{key: one.get(key) for key in _PROMPT_KEYS} for one in dumped][:_MAX_LISTED]

    async def prompt(self, order: Order) -> Reply:
        """Return the text of a prompt."""
        client = await self._client
        given = {name: str(value) for name, value in order.arguments.items()}
        result = await client.get_prompt(order.name, given)
        text = "\n\n".join(_part(message.content) for message in result.messages)
        return Reply(number=order.number, text=_cut(text, order.max_bytes))

    async def resource(self, order: Order) -> Reply:
        """Return the text of a resource; what is no text is only named."""
        client = await self._client
        if client.server_capabilities.resources is None:
            raise OrderFailed("failed", "it has no resources")
        try:
            result = await client.read_resource(order.name)
        except MCPError as error:
            page = await client.list_resources()
            known = ", ".join(str(one.uri) for one in page.resources[:_MAX_NAMED]) or "none"
            raise OrderFailed("failed", f"{_said(error)} (it lists: {known[:2_000]})") from None
        parts = (_content(one) for one in result.contents)
        return Reply(number=order.number, text=_cut("\n".join(parts), order.max_bytes))

    async def close(self) -> None:
        """End the session and the program; returns when both are gone."""
        self._over.set()
        if not self._client.done():
            # It may hang before it answered the first request.
            self._task.cancel()
        await asyncio.wait([self._task])

    def why_gone(self) -> str:
        """Return why the server is gone, for a person."""
        why = self._pipes.trouble or "it ended"
        words = self._pipes.last_words
        return f"{why}; its last words: {words}" if words else why

    async def _live(self) -> None:
        """Hold the session; the library wants it opened and closed by one task."""
        try:
            client = Client(
                self._raw.watching(self._pipes.opened()),
                cache=None,
                message_handler=self._take_news,
                list_roots_callback=self._list_roots,
                client_info=types.Implementation(name="agent-ls", version=__version__),
            )
            async with client:
                self._client.set_result(client)
                await self._over.wait()
        except asyncio.CancelledError:
            self._client.cancel()
        except BaseException as error:
            if not self._client.done():
                self._client.set_exception(_first(error))
        finally:
            self._over.set()

    async def _take_news(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._is_changed = True

    async def _list_roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(uri)) for uri in self._roots])


class Host:
    """Carries out orders, several at once."""

    def __init__(self, tell: Callable[[Reply], None]) -> None:
        self._tell = tell
        self._connections: dict[str, Connection] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def take(self, order: Order) -> None:
        """Start the order, or cancel the order with the same number."""
        if order.op == "cancel":
            if task := self._tasks.get(order.number):
                task.cancel()
            return
        task = self._tasks[order.number] = asyncio.ensure_future(self._carry_out(order))
        task.add_done_callback(lambda _: self._tasks.pop(order.number, None))

    async def close(self) -> None:
        """End all sessions and servers."""
        await asyncio.gather(*map(self._close, list(self._connections)))

    async def _carry_out(self, order: Order) -> None:
        try:
            async with asyncio.timeout(order.limit_s):
                reply = await self._done(order)
        except TimeoutError:
            await self._close(order.server)
            reply = _failed(order, "timeout", f"it did not answer within {order.limit_s:g} s")
        except OrderFailed as error:
            reply = _failed(order, error.failure, error.text, error.tools)
        except Exception as error:
            reply = _failed(order, *await self._judged(order, error))
        if reply.failure and (connection := self._connections.get(order.server)):
            reply = reply.model_copy(update={"text": connection.without_secrets(reply.text)})
        self._tell(reply)

    async def _judged(self, order: Order, error: Exception) -> tuple[Failure, str]:
        """Return what an error means: the end of the server, or of this order alone."""
        connection = self._connections.get(order.server)
        if connection is None:
            return "gone", _said(error)
        is_over = connection.is_over
        is_answer = isinstance(error, MCPError) and error.error.message != _NO_SESSION
        is_up = not is_over and not connection.trouble and (is_answer or not connection.is_remote)
        if is_up and order.op in ("call", "prompt", "resource"):
            return "failed", _said(error)
        await self._close(order.server)
        return "gone", connection.trouble or (connection.why_gone() if is_over else _said(error))

    async def _done(self, order: Order) -> Reply:
        connection = self._connections.get(order.server)
        match order.op:
            case "open" | "login" if order.launch is not None:
                await self._close(order.server)

                def on_page(page: str) -> None:
                    self._tell(Reply(number=order.number, page=page))

                connection = Connection(order.launch, on_page if order.op == "login" else None)
                self._connections[order.server] = connection
                tools = tuple(await connection.look())
                prompts = tuple(await connection.prompts())
                return Reply(number=order.number, tools=tools, prompts=prompts)
            case "call" | "prompt" | "resource":
                if connection is None or connection.is_over:
                    raise OrderFailed("unsent", connection.why_gone() if connection else "")
                if order.op == "resource":
                    return await connection.resource(order)
                is_call = order.op == "call"
                return await (connection.call(order) if is_call else connection.prompt(order))
            case _:
                await self._close(order.server)
                return Reply(number=order.number)

    async def _close(self, server: str) -> None:
        if connection := self._connections.pop(server, None):
            await connection.close()


def _failed(
    order: Order, failure: Failure, text: str, tools: tuple[dict[str, Any], ...] = ()
) -> Reply:
    return Reply(number=order.number, failure=failure, text=text, tools=tools)


def _first(error: BaseException) -> BaseException:
    """Return the first real error of nested groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _said(error: BaseException) -> str:
    error = _first(error)
    words = error.error.message if isinstance(error, MCPError) else str(error)
    return " ".join(f"{type(error).__name__}: {words}".split())[:500]


def _rendered(result: types.CallToolResult, max_bytes: int) -> str:
    """Return what a tool answered as text, cut to ``max_bytes``."""
    parts = [_part(one) for one in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False, indent=1)]
    return _cut("\n".join(parts), max_bytes)


def _images(result: types.CallToolResult) -> Iterator[str]:
    """Yield the images of a result in base64, as far as they fit into a reply."""
    room = MAX_IMAGES_BYTES
    for one in result.content:
        data = one.data if isinstance(one, types.ImageContent) else ""
        room -= len(data)
        if data and room > 0:
            yield data


def _cut(text: str, max_bytes: int) -> str:
    data = text.encode(errors="replace")
    if len(data) <= max_bytes:
        return data.decode()
    cut = data[:max_bytes].decode(errors="ignore")
    return f"{cut}\n… ({len(data) - max_bytes:,} bytes left out)"


def _part(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.type} {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
        case types.ResourceLink():
            return f"[resource {block.uri}: {block.name}]"
        case types.EmbeddedResource(resource=resource):
            return _content(resource)


def _content(resource: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(resource, types.TextResourceContents):
        return f"[resource {resource.uri}]\n{resource.text}"
    return f"[resource {resource.uri}, which is no text]"


async def _serve(orders: int, replies: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(MAX_LINE_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(orders, "rb", buffering=0)
    )

    def tell(reply: Reply) -> None:
        line = memoryview(reply.model_dump_json(exclude_defaults=True).encode() + b"\n")
        while line:
            line = line[os.write(replies, line) :]

    host = Host(tell)

    async def follow() -> None:
        while line := await reader.readline():
            host.take(Order.model_validate_json(line))

    following = asyncio.ensure_future(follow())
    loop.add_signal_handler(signal.SIGTERM, following.cancel)
    await asyncio.wait([following])
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSE_S):
            await host.close()
    # The launcher ends what may be left as soon as we are gone.
    os._exit(0)


def main() -> None:
    """Serve until the server closes its pipe."""
    orders, replies = os.dup(0), os.dup(1)
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # What a library prints must not look like a reply.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    seal()
    asyncio.run(_serve(orders, replies))


if __name__ == "__main__":
    main()
