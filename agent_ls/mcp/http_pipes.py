"""The way to a tool server that is an address (streamable HTTP), with the person's login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.auth.oauth2 import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from agent_ls.mcp.frames import MAX_LINE_BYTES, Launch
from agent_ls.mcp.tokens import SavedLogins, expiry_s, logins_file

_CONNECT_S = 10.0
_READ_S = 600.0
_MAX_REQUEST_BYTES = 64 * 2**10
_DONE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    b"You can close this page and go back to agent-ls.\n"
)


class HttpPipes:
    """A tool server's address, as the library's transport."""

    last_words = ""
    has_ended = False

    def __init__(self, launch: Launch, on_url: Callable[[str], None] | None = None) -> None:
        """With ``on_url`` the person logs in: it gets the page that they have to open."""
        self._launch = launch
        self._on_url = on_url
        self.trouble = ""
        """Why it does not answer, if we know better than the library."""

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[TransportStreams]:
        """Connect for the length of a block."""
        async with (
            _login(self._launch.url, self._on_url) as auth,
            httpx2.AsyncClient(
                headers=dict(self._launch.headers),
                timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
                auth=auth,
                event_hooks={"response": [self._look_at]},
            ) as client,
            streamable_http_client(
                self._launch.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
            ) as streams,
        ):
            yield streams

    async def _look_at(self, response: httpx2.Response) -> None:
        if response.status_code in (401, 403):
            self.trouble = "it wants a login (agent-ls mcp login)"
        elif response.is_success:
            self.trouble = ""
        if "text/event-stream" not in response.headers.get("content-type", ""):
            # The library bounds the events of a stream itself.
            response.stream = _Bounded(response.stream, self._break_off)

    def _break_off(self, why: str) -> None:
        # The library ends the session some time after such an error, and calls in between fail.
        self.trouble = why


class _Bounded(httpx2.AsyncByteStream):
    """A response's body, up to a size."""

    def __init__(self, stream: object, break_off: Callable[[str], None]) -> None:
        self._stream = stream
        self._break_off = break_off

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        assert isinstance(self._stream, httpx2.AsyncByteStream)
        async for part in self._stream:
            size += len(part)
            if size > MAX_LINE_BYTES:
                why = f"it sent an answer of over {MAX_LINE_BYTES:,} bytes"
                self._break_off(why)
                raise httpx2.ReadError(why)
            yield part

    async def aclose(self) -> None:
        if isinstance(self._stream, httpx2.AsyncByteStream):
            await self._stream.aclose()


class _Storage:
    """The library's store of tokens: one login of the person."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._logins = SavedLogins(logins_file())

    async def get_tokens(self) -> OAuthToken | None:
        login = await asyncio.to_thread(self._logins.find, self._url)
        found = login.tokens if login else ""
        return OAuthToken.model_validate_json(found) if found else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        ends_s = expiry_s(tokens.expires_in)
        text = tokens.model_dump_json()
        await asyncio.to_thread(self._logins.update, self._url, tokens=text, expires_s=ends_s)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        login = await asyncio.to_thread(self._logins.find, self._url)
        found = login.client if login else ""
        return OAuthClientInformationFull.model_validate_json(found) if found else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        text = client_info.model_dump_json()
        await asyncio.to_thread(self._logins.update, self._url, client=text)


@asynccontextmanager
async def _login(
    url: str, on_url: Callable[[str], None] | None
) -> AsyncGenerator[OAuthClientProvider | None]:
    """Yield what adds the person's login to requests; None where there is none.

    With ``on_url`` an older login is forgotten, and the person gives a new one in their browser.
    """
    logins = SavedLogins(logins_file())
    if on_url is None:
        login = await asyncio.to_thread(logins.find, url)
        if login is None or not login.tokens:
            yield None
            return
        auth = _provider(url, "http://127.0.0.1/callback")
        # The library does not store when a token ends, and would not refresh it.
        auth.context.token_expiry_time = login.expires_s
        yield auth
        return
    await asyncio.to_thread(logins.forget, url)
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    listening = await asyncio.start_server(
        lambda reader, writer: _take_answer(reader, writer, answer), "127.0.0.1", 0
    )
    port = listening.sockets[0].getsockname()[1]
    auth = _provider(url, f"http://127.0.0.1:{port}/callback")

    async def show(page: str) -> None:
        on_url(page)

    async def wait() -> AuthorizationCodeResult:
        return await answer

    auth.context.redirect_handler, auth.context.callback_handler = show, wait
    async with listening:
        yield auth


def _provider(url: str, redirect: str) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="agent-ls", redirect_uris=[AnyUrl(redirect)])
    return OAuthClientProvider(url, metadata, _Storage(url))


async def _take_answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    answer: asyncio.Future[AuthorizationCodeResult],
) -> None:
    """Take the code that the browser brings; whether it is ours, the library checks by state."""
    try:
        line = (await reader.readuntil(b"\r\n"))[:_MAX_REQUEST_BYTES].decode(errors="replace")
        given = parse_qs(urlsplit(line.split(" ")[1]).query)
        if "code" in given and "state" in given and not answer.done():
            result = AuthorizationCodeResult(code=given["code"][0], state=given["state"][0])
            answer.set_result(result.model_copy(update={"iss": given.get("iss", [None])[0]}))
        writer.write(_DONE)
        await writer.drain()
    except (OSError, EOFError, IndexError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()
