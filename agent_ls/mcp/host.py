"""The host of tool-server sessions: a child process, the only one that loads the MCP library.

So its import, its tasks and what a server sends cost the editor nothing. It carries out orders,
decides nothing, and ends with the server, as do the programs it started. ``link`` starts it as
``python -m agent_ls.mcp.host``.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import mcp_types as types
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.shared.exceptions import MCPError
from pydantic import FileUrl, ValidationError
from rapidfuzz import process

from agent_ls import __version__
from agent_ls.loop.pausing import paused
from agent_ls.mcp.contents import block_text, cut, read_result, resource_text
from agent_ls.mcp.definitions import digest_of
from agent_ls.mcp.frames import MAX_LINE_BYTES, Asked, Failure, Launch, Order, Reply
from agent_ls.mcp.http_pipes import HttpPipes
from agent_ls.mcp.pages import ListTooLong, Page, all_pages, what_counts
from agent_ls.mcp.plain_tools import RawTools
from agent_ls.mcp.program_pipes import ProgramPipes
from agent_ls.processes.sealing import seal
from agent_ls.safety.keys import without_keys

_LOOK_AGAIN_S = 30.0
"""A server need not tell that its definitions changed, so they are looked at again."""
_CLOSE_S = 1.5
_ALIVE_S = 2.0
"""How long a server that was late with an answer may take for its list of tools."""
_NO_SESSION = "Session terminated"
"""The library's words for a remote server that forgot the session: another one is opened."""
_MAX_NAMED = 20
"""Resources named when another one is not there: those with the most similar addresses."""
_MAX_INSTRUCTIONS_CHARS = 10_000
"""More than is used of them."""
_MAX_ASKED_CHARS = 2**20
"""Of a question for the user, with its form."""
_PROMPT_KEYS = ("name", "description", "arguments")
Elicit = Callable[[types.ElicitRequestParams], Awaitable[types.ElicitResult]]


class OrderFailed(Exception):
    """Why an order could not be carried out."""

    def __init__(self, failure: Failure, text: str, tools: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(text)
        self.failure: Failure = failure
        self.text = text
        self.tools = tuple(tools)


class Connection:
    """A session with one server, from its start to its end."""

    def __init__(
        self, launch: Launch, elicit: Elicit, on_page: Callable[[str], None] | None = None
    ) -> None:
        """``elicit`` asks the user what the server wants to know from them."""
        self._elicit = elicit
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
        pipes = self._pipes
        tokens = pipes.tokens if isinstance(pipes, HttpPipes) else ()
        return without_keys(text, (*self._secrets, *tokens))

    @property
    def is_remote(self) -> bool:
        """Say whether it is reached over the network, which may fail without an end."""
        return isinstance(self._pipes, HttpPipes)

    @property
    def trouble(self) -> str:
        """Return what we know of its trouble; may be empty."""
        return self._pipes.trouble

    @property
    def refusal(self) -> str:
        """Return why the server refused the last request for its sign-in; empty: it did not."""
        return self._pipes.refusal if isinstance(self._pipes, HttpPipes) else ""

    @property
    def is_over(self) -> bool:
        """Say whether the server ended or is ending."""
        return self._over.is_set() or self._task.done() or self._pipes.has_ended

    @property
    def instructions(self) -> str:
        """Return the server's words on how to use it; call it after ``look``."""
        return (self._client.result().instructions or "")[:_MAX_INSTRUCTIONS_CHARS]

    async def look(self) -> list[dict[str, Any]]:
        """Return the definitions of its tools, asked for again when they may have changed."""
        client = await asyncio.shield(self._client)
        # Two answers at once would take each other's tools.
        async with self._listing:
            if self._is_changed or time.monotonic() - self._listed_s >= _LOOK_AGAIN_S:
                self._is_changed = False
                try:
                    self.tools = await all_pages(lambda cursor: self._tools(client, cursor))
                except ListTooLong as error:
                    self._pipes.trouble = str(error)
                    raise
                self._listed_s = time.monotonic()
            return self.tools

    async def _tools(self, client: Client, cursor: str | None) -> Page:
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError:
            if client.server_capabilities.tools is not None:
                raise
            # It has prompts or resources alone.
            return [], None
        return [what_counts(tool) for tool in self._raw.take()], page.next_cursor

    async def is_alive(self) -> bool:
        """Say whether the server still answers; asks for its tools again."""
        self._is_changed = True
        try:
            async with asyncio.timeout(_ALIVE_S):
                await self.look()
        except Exception:
            return False
        return not self.is_over

    async def call(self, order: Order) -> Reply:
        """Call a tool, unless the definitions are not those that the user approved."""
        tools = await self.look()
        if digest_of(tools) != order.pinned:
            raise OrderFailed("changed", "its tools changed", tools)
        client = await self._client
        result = await client.call_tool(order.name, dict(order.arguments))
        return read_result(order.number, result, order.max_bytes)

    async def prompts(self) -> tuple[list[dict[str, Any]], str]:
        """Return the prompts that it offers, and why they could not be listed."""
        client = await asyncio.shield(self._client)
        if client.server_capabilities.prompts is None:
            return [], ""

        async def page_of(cursor: str | None) -> Page:
            page = await client.list_prompts(cursor=cursor)
            dumped = (one.model_dump(mode="json", by_alias=True) for one in page.prompts)
            return [{key: one.get(key) for key in _PROMPT_KEYS} for one in dumped], page.next_cursor

        try:
            return await all_pages(page_of), ""
        except (MCPError, ValidationError, ListTooLong) as error:
            return [], f"its prompts cannot be listed: {_said(error)}"

    async def prompt(self, order: Order) -> Reply:
        """Return the text of a prompt."""
        client = await self._client
        given = {name: str(value) for name, value in order.arguments.items()}
        result = await client.get_prompt(order.name, given)
        text = "\n\n".join(block_text(message.content) for message in result.messages)
        return Reply(number=order.number, text=cut(text, order.max_bytes)[0])

    async def resource(self, order: Order) -> Reply:
        """Return the text of a resource; what is no text is only named."""
        client = await self._client
        if client.server_capabilities.resources is None:
            raise OrderFailed("failed", "it has no resources")
        try:
            result = await client.read_resource(order.name)
        except MCPError as error:
            known = await self._resources_like(order.name, client)
            raise OrderFailed("failed", f"{_said(error)} (it lists: {known[:2_000]})") from None
        text = resource_text(result.contents)
        return Reply(number=order.number, text=cut(text, order.max_bytes)[0])

    async def _resources_like(self, uri: str, client: Client) -> str:
        """Return the addresses of its resources; of many the most similar ones."""

        async def page_of(cursor: str | None) -> Page:
            page = await client.list_resources(cursor=cursor)
            return [{"uri": str(one.uri)} for one in page.resources], page.next_cursor

        found = [one["uri"] for one in await all_pages(page_of)]
        if len(found) <= _MAX_NAMED:
            return ", ".join(found) or "none"
        like = [one for one, _, _ in process.extract(uri, found, limit=_MAX_NAMED)]
        return f"{', '.join(like)} and {len(found) - len(like):,} more"

    async def close(self) -> None:
        """End the session and the program; returns when both are gone."""
        self._over.set()
        if not self._client.done():
            # It may hang before it answered the first request.
            self._task.cancel()
        await asyncio.wait([self._task])

    def why_gone(self) -> str:
        """Return why the server is gone, for a user."""
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
                elicitation_callback=self._on_elicit,
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

    async def _on_elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        return await self._elicit(params)


@dataclass(slots=True, eq=False)
class _Running:
    """An order that is carried out, with what the server asks the user meanwhile."""

    order: Order
    task: asyncio.Task[None]
    limit: asyncio.Timeout
    answers: dict[int, asyncio.Future[types.ElicitResult]] = field(
        default_factory=dict[int, asyncio.Future[types.ElicitResult]]
    )


class Host:
    """Carries out orders, several at once."""

    def __init__(self, tell: Callable[[Reply], None]) -> None:
        self._tell = tell
        self._connections: dict[str, Connection] = {}
        self._newest: dict[str, Connection] = {}
        """Likewise, also those that are over."""
        self._running: dict[int, _Running] = {}
        self._asked = itertools.count(1)

    def take(self, order: Order) -> None:
        """Start the order; or cancel, or answer what is asked for, the order of that number."""
        running = self._running.get(order.number)
        match order.op:
            case "cancel":
                if running is not None:
                    running.task.cancel()
            case "answer":
                answer = running.answers.get(int(order.name)) if running is not None else None
                if answer is not None and not answer.done():
                    answer.set_result(_elicited(order))
            case _:
                limit = asyncio.timeout(order.limit_s)
                task = asyncio.ensure_future(self._carry_out(order, limit))
                self._running[order.number] = _Running(order, task, limit)
                task.add_done_callback(lambda _: self._running.pop(order.number, None))

    async def close(self) -> None:
        """End all sessions and servers."""
        await asyncio.gather(*map(self._close, list(self._connections)))

    async def _carry_out(self, order: Order, limit: asyncio.Timeout) -> None:
        try:
            async with limit:
                reply = await self._done(order)
        except TimeoutError:
            reply = await self._late(order)
        except OrderFailed as error:
            reply = _failed(order, error.failure, error.text, error.tools)
        except Exception as error:
            reply = _failed(order, *await self._judged(order, error))
        finally:
            # The server need not wait for the user any more.
            for answer in self._running[order.number].answers.values():
                if not answer.done():
                    answer.set_result(types.ElicitResult(action="cancel"))
        connection = self._newest.get(order.server)
        if connection is not None and (reply.failure or reply.is_error or order.op == "open"):
            text, value = map(connection.without_secrets, (reply.text, reply.value or ""))
            update = {"text": text, "value": None if reply.value is None else value}
            reply = reply.model_copy(update=update)
        self._tell(reply)

    async def _late(self, order: Order) -> Reply:
        """Return what a missing answer means: this call's end, or also that of the server.

        The library has told the server that the call is cancelled.
        """
        words = f"it did not answer within {order.limit_s:g} s"
        connection = self._connections.get(order.server)
        is_request = order.op in ("call", "prompt", "resource")
        if is_request and connection is not None and await connection.is_alive():
            return _failed(order, "late", words)
        await self._close(order.server)
        return _failed(order, "timeout", words)

    async def _elicit(self, server: str, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Return the user's answer to what a server asks during a call; without one, decline.

        Of several calls it is asked in the newest: on a pipe the server does not say which. So
        the time of all its orders stands still meanwhile.
        """
        orders = [one for one in self._running.values() if one.order.server == server]
        calls = [one for one in orders if one.order.op == "call"]
        if not calls:
            return types.ElicitResult(action="decline")
        number, call = next(self._asked), calls[-1]
        answer = call.answers[number] = asyncio.get_running_loop().create_future()
        asked = Asked(id=number, message=params.message)
        if isinstance(params, types.ElicitRequestURLParams):
            asked = asked.model_copy(update={"url": params.url})
        else:
            asked = asked.model_copy(update={"form": params.requested_schema})
        reply = Reply(number=call.order.number, asked=asked)
        if len(reply.model_dump_json()) > _MAX_ASKED_CHARS:
            return types.ElicitResult(action="decline")
        self._tell(reply)
        with paused(*(one.limit for one in orders)):
            return await answer

    async def _judged(self, order: Order, error: Exception) -> tuple[Failure, str]:
        """Return what an error means: the end of the server, or of this order alone."""
        connection = self._connections.get(order.server)
        if connection is None:
            return "gone", _said(error)
        is_call = order.op in ("call", "prompt", "resource")
        if connection.refusal and is_call:
            return "failed", connection.refusal
        is_over = connection.is_over
        is_answer = isinstance(error, MCPError) and error.error.message != _NO_SESSION
        is_up = not is_over and not connection.trouble and (is_answer or not connection.is_remote)
        if is_up and is_call:
            return "failed", _said(error)
        await self._close(order.server)
        why = connection.trouble or connection.refusal
        return "gone", why or (connection.why_gone() if is_over else _said(error))

    async def _done(self, order: Order) -> Reply:
        connection = self._connections.get(order.server)
        match order.op:
            case "open" | "login" if order.launch is not None:
                await self._close(order.server)

                def on_page(page: str) -> None:
                    self._tell(Reply(number=order.number, page=page))

                connection = Connection(
                    order.launch,
                    lambda params: self._elicit(order.server, params),
                    on_page if order.op == "login" else None,
                )
                self._connections[order.server] = self._newest[order.server] = connection
                tools = tuple(await connection.look())
                prompts, lacking = await connection.prompts()
                return Reply(
                    number=order.number,
                    text=lacking,
                    tools=tools,
                    prompts=tuple(prompts),
                    instructions=connection.instructions,
                )
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


def _elicited(order: Order) -> types.ElicitResult:
    """Return the user's answer; a refusal for one that the protocol does not take."""
    try:
        return types.ElicitResult.model_validate(dict(order.arguments))
    except ValidationError:
        return types.ElicitResult(action="decline")


def _said(error: BaseException) -> str:
    error = _first(error)
    words = error.error.message if isinstance(error, MCPError) else str(error)
    match getattr(error, "error", None):
        case types.ErrorData(data={"elicitations": [{"url": str(page)}, *_]}):
            # The call works once the user has opened a page, such as one to log in at.
            words = f"{words} The user has to open {page} first"
        case _:
            pass
    return " ".join(f"{type(error).__name__}: {words}".split())[:500]


async def _serve(orders: int, replies: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(MAX_LINE_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(orders, "rb", buffering=0)
    )

    def tell(reply: Reply) -> None:
        whole = reply.model_dump_json(exclude_defaults=True).encode()
        if len(whole) >= MAX_LINE_BYTES:
            # A longer line would end the sessions of all servers.
            words = f"its answer has over {MAX_LINE_BYTES:,} bytes"
            short = Reply(number=reply.number, failure="gone", text=words)
            whole = short.model_dump_json(exclude_defaults=True).encode()
        line = memoryview(whole + b"\n")
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
