"""What every HTTP client of the model host keeps to: no redirects, no endless error bodies.

For the child process alone, which has httpx loaded anyway.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any, Final, NoReturn

import httpx

MAX_ERROR_BYTES: Final = 65_536


class _Start(httpx.AsyncByteStream):
    """The first bytes of a body."""

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
    """Leave of an answer that is none what a person can read: clients read all there is."""
    if not response.is_success and isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Start(response.stream)


def keep_limits(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Have a client follow no redirect, which could carry the key elsewhere, and cut errors."""
    client.follow_redirects = False
    client.event_hooks = {"response": [_cut_error_body]}
    return client


def keep_limits_in(handler: Any) -> None:
    """Have every client that the model library makes with its handler class keep to it too.

    The class also sends again by itself what could not be sent; whether to is the loop's decision.
    """
    create = handler.create_client

    def create_client(self: Any, *args: Any, **named: Any) -> httpx.AsyncClient:
        return keep_limits(create(self, *args, **named))

    async def send_again(*_: Any, **__: Any) -> NoReturn:
        error = sys.exc_info()[1]
        assert error is not None, "called where something was caught"
        raise error

    handler.create_client = create_client
    handler.single_connection_post_request = send_again
