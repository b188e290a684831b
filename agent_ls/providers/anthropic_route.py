"""Sends requests to Anthropic's Messages API over HTTP, without litellm.

For Claude at Anthropic, and for gateways and servers with the same API.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from agent_ls.domain.model_io import ModelEvent, ModelRequest
from agent_ls.providers.answer import Answer
from agent_ls.providers.anthropic_request import messages_body
from agent_ls.providers.anthropic_stream import MessageEvents
from agent_ls.providers.chat_request import origin_of
from agent_ls.providers.dialects import Dialect
from agent_ls.providers.frames import Order
from agent_ls.providers.http_client import Post, exchange
from agent_ls.providers.prices import UNKNOWN, KnownModel
from agent_ls.providers.shapes import as_object

if TYPE_CHECKING:
    import httpx

ADDRESS: Final = "https://api.anthropic.com"
_OPTIONAL: Final = frozenset({"temperature", "tool_choice", "thinking", "output_config"})


class AnthropicRoute:
    """Sends one model's requests as messages."""

    provider = "anthropic"

    def __init__(
        self, client: httpx.AsyncClient, endpoint: str, known: KnownModel | None, dialect: Dialect
    ) -> None:
        """``endpoint`` is the address, with or without ``/v1`` and what follows."""
        self.endpoint = endpoint
        self.known = known or UNKNOWN
        self.dialect = dialect
        self.sent: frozenset[str] = frozenset()
        self._client = client

    async def stream(
        self, request: ModelRequest, order: Order, answer: Answer
    ) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Send the request and yield the events that each network read completes."""
        origin = origin_of(self, request.model)
        most = self.known.card.max_output_tokens
        body = messages_body(request, self.dialect, origin, most)
        self.sent = (_OPTIONAL & {*body}) | {"eager_input_streaming", "cache_control"}
        headers = {"anthropic-version": "2023-06-01", "x-api-key": order.access.api_key or ""}
        if as_object(body.get("thinking")).get("type") == "enabled":
            # Without it, Claude thinks only once, before its first call.
            headers["anthropic-beta"] = "interleaved-thinking-2025-05-14"
        post = Post(
            url=_messages_url(self.endpoint),
            headers=headers,
            body=body,
            reader=MessageEvents(answer),
            origin=origin,
            images_size=sum(map(len, request.images.values())),
        )
        async with aclosing(exchange(self._client, post, order.limits, answer)) as events:
            async for some in events:
                yield some


def _messages_url(base: str) -> str:
    """Return the address for messages below a base with or without ``/v1/messages``."""
    base = base.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    return f"{base}/v1/messages"
