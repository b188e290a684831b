"""The way to a tool server that is an address (streamable HTTP)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.auth.utils import extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client

from agent_ls.mcp.frames import MAX_LINE_BYTES, Launch
from agent_ls.mcp.sign_in import lacks_scope, signed_in, tokens_of

_CONNECT_S = 10.0
_READ_S = 600.0
_MAX_SCOPE_CHARS = 200
_UNSIGNED = {
    "authorization_code": "it wants a login (agent-ls mcp login)",
    "client_credentials": "it does not take the token of its client credentials",
}
_REFUSED = {
    "authorization_code": "it wants a login that allows {scope} (agent-ls mcp login)",
    "client_credentials": "its client credentials do not allow {scope}",
}
"""What is said by how agent-ls signs in."""


class HttpPipes:
    """A tool server's address, as the library's transport."""

    last_words = ""
    has_ended = False

    def __init__(self, launch: Launch, on_url: Callable[[str], None] | None = None) -> None:
        """With ``on_url`` the user logs in: it gets the page that they have to open."""
        self._launch = launch
        self._on_url = on_url
        self.trouble = ""
        """Why it does not answer, if we know better than the library."""
        self.refusal = ""
        """Why it refused the last request, and only that, for its sign-in."""
        self._auth: httpx2.Auth | None = None

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return the secrets that have signed requests, which no message may show."""
        return tokens_of(self._auth)

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[TransportStreams]:
        """Connect for the length of a block."""
        async with (
            signed_in(self._launch, self._on_url, self._break_off) as self._auth,
            httpx2.AsyncClient(
                headers=dict(self._launch.headers),
                timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
                auth=self._auth,
                event_hooks={"response": [self._look_at]},
            ) as client,
            streamable_http_client(
                self._launch.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES
            ) as streams,
        ):
            yield streams

    async def _look_at(self, response: httpx2.Response) -> None:
        # Others than the tool server are asked on the way to a token.
        if "text/event-stream" in response.request.headers.get("accept", ""):
            grant = self._launch.oauth.grant
            if lacks_scope(response):
                scope = (extract_scope_from_www_auth(response) or "more")[:_MAX_SCOPE_CHARS]
                self.refusal = _REFUSED[grant].format(scope=scope)
            elif response.status_code in (401, 403):
                self.trouble = _UNSIGNED[grant]
            elif response.is_success:
                self.trouble = self.refusal = ""
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
