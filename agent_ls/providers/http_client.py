"""The HTTP clients of the model host, their limits, and how one request is sent and read.

The host imports httpx here first, where what httpx imports in vain is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from agent_ls import __version__
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_stream import EventStream, Reader
from agent_ls.providers.frames import Limits
from agent_ls.providers.shapes import Object

# Marked as missing, httpx's command line is not imported, nor are the four packages it needs.
# This must come before the import.
cast("dict[str, Any]", sys.modules).setdefault("httpx._main", None)

import httpx  # noqa: E402

MAX_ERROR_BYTES: Final = 65_536
_DRAIN_S: Final = 0.5
_ASK_S: Final = 2.0
_BLOCKING_S: Final = 30.0
_MAX_JSON_BYTES: Final = 8 * 2**20
_Client = TypeVar("_Client", httpx.AsyncClient, httpx.Client)
_PROXIES: Final = frozenset({"all_proxy", "http_proxy", "https_proxy"})


class UnusableProxy(MalformedAnswer):
    """A proxy in the environment has an address that no client can use."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request as it is sent, and what reads its answer."""

    url: str
    headers: Mapping[str, str]
    body: Object
    reader: Reader
    origin: str
    """The name under which the fields of the answer are kept."""
    images_size: int = 0
    """How many bytes of the body are images: these are no measure of its tokens."""


async def exchange(
    client: httpx.AsyncClient, post: Post, limits: Limits, answer: Answer
) -> AsyncGenerator[Sequence[ModelEvent], None]:
    """Send a request and yield the events that each network read completes.

    Errors: httpx's; ``MalformedAnswer``, ``ErrorInStream``.
    """
    body = json.dumps(post.body, ensure_ascii=False, separators=(",", ":")).encode()
    sending = client.stream(
        "POST",
        post.url,
        content=body,
        headers={
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"agent-ls/{__version__}",
            **post.headers,
        },
        timeout=client_timeout(limits),
    )
    async with sending as response:
        if not response.is_success:
            await response.aread()
            response.raise_for_status()
        stream = EventStream(answer, response.headers.get("content-type", ""), post.reader)
        received = response.aiter_bytes()
        async for data in received:
            yield list(stream.feed(data))
            if stream.is_done:
                break
        yield [*stream.end(), *answer.end(len(body) - post.images_size, post.origin)]
        with suppress(httpx.HTTPError, TimeoutError):
            # Drain the body so that the connection is reused.
            async with asyncio.timeout(_DRAIN_S):
                async for _ in received:
                    pass


async def get_json(
    client: httpx.AsyncClient,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: Object | None = None,
) -> object:
    """Return what a server answers at once in JSON; None for anything else.

    A ``body`` is sent as JSON, with POST.
    """
    data, method = b"", "GET" if body is None else "POST"
    with suppress(httpx.HTTPError, httpx.InvalidURL, ValueError, TimeoutError, RecursionError):
        asking = client.stream(method, url, headers=headers, json=body)
        async with asyncio.timeout(_ASK_S), asking as response:
            response.raise_for_status()
            async for part in response.aiter_bytes():
                data += part
                if len(data) > _MAX_JSON_BYTES:
                    return None
            return json.loads(data)
    return None


def open_client() -> httpx.AsyncClient:
    """Return the HTTP client; proxies and certificates come from the environment.

    Errors: ``UnusableProxy``.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return keep_limits(_by_environment(lambda: httpx.AsyncClient(limits=limits)))


def open_blocking_client() -> httpx.Client:
    """Return an HTTP client for threads, as ``open_client`` does. Errors: ``UnusableProxy``."""
    return _by_environment(lambda: httpx.Client(timeout=_BLOCKING_S, follow_redirects=False))


def _by_environment(make: Callable[[], _Client]) -> _Client:
    """Return a client after mending what no client understands. Errors: ``UnusableProxy``."""
    for name, value in os.environ.items():
        if name.lower() in _PROXIES and value.startswith("socks://"):
            # GNOME's settings write it so and mean SOCKS 5.
            os.environ[name] = f"socks5{value.removeprefix('socks')}"
    certificates = os.environ.get("SSL_CERT_FILE", "")
    if certificates and not Path(certificates).is_file():
        # A missing certificate file must not make every request fail.
        del os.environ["SSL_CERT_FILE"]
    try:
        return make()
    except ValueError as error:
        raise UnusableProxy(
            f"the proxy in {' or '.join(_proxies_set())} cannot be used: an address of a proxy "
            "begins with http://, https://, socks5:// or socks5h://",
            ProviderFailure.CONNECTION,
        ) from error


def open_local_client() -> httpx.AsyncClient:
    """Return the HTTP client for servers on this machine, which no proxy stands before."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    return keep_limits(httpx.AsyncClient(limits=limits, trust_env=False))


def _proxies_set() -> list[str]:
    return [name for name in os.environ if name.lower() in _PROXIES]


def keep_limits(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Turn off redirects, which could leak the key, and cut long error bodies."""
    client.follow_redirects = False
    client.event_hooks = {"response": [_cut_error_body]}
    return client


def client_timeout(limits: Limits) -> httpx.Timeout:
    """Return the client's timeouts; reads get 5 s more than our limits, so that ours fire first."""
    longest = max(limits.first_chunk_s, limits.idle_s) + 5
    return httpx.Timeout(longest, connect=limits.connect_s)


class _Start(httpx.AsyncByteStream):
    """The first ``MAX_ERROR_BYTES`` of a body."""

    def __init__(self, body: httpx.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ERROR_BYTES
        async for part in self._body:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._body.aclose()


async def _cut_error_body(response: httpx.Response) -> None:
    """Cut the body of an error response, because clients read all of it."""
    if not response.is_success and isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Start(response.stream)
