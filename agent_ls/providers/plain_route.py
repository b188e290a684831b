"""Sends OpenAI chat completions over HTTP, without litellm.

For OpenAI's models that do not reason, and for providers and servers with the same API.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from agent_ls.domain.model_io import ModelEvent, ModelRequest
from agent_ls.providers.addresses import below, is_openais_own
from agent_ls.providers.answer import Answer
from agent_ls.providers.chat_request import (
    chat_messages,
    chat_tools,
    mark_for_cache,
    most_tokens,
    needs_cache_markers,
    optional_fields,
    origin_of,
    with_content,
)
from agent_ls.providers.chat_stream import ChatChunks
from agent_ls.providers.dialects import ADDRESSES, Dialect
from agent_ls.providers.frames import Access, Order
from agent_ls.providers.http_client import Post, exchange
from agent_ls.providers.opening_calls import opening_in_words
from agent_ls.providers.prices import RESPONSES, UNKNOWN, KnownModel
from agent_ls.providers.shapes import Object

if TYPE_CHECKING:
    import httpx


def plain_address(model: str, provider: str, base: str | None, known: KnownModel | None) -> str:
    """Return the address for a model's chat completions; empty if the model needs litellm.

    OpenAI's reasoning models have a format of their own and need litellm at any address. So do
    models that are too new for the table, at OpenAI's own address.
    """
    if f"/{RESPONSES}" in model:
        return ""
    if provider == "openai":
        is_odd = (known.is_reasoning or not known.is_chat) if known else is_openais_own(base)
        return "" if is_odd else base or ADDRESSES["openai"]
    return (base or ADDRESSES[provider]) if provider in ADDRESSES else ""


class PlainRoute:
    """Sends one model's requests as chat completions."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        provider: str,
        endpoint: str,
        known: KnownModel | None,
        dialect: Dialect,
    ) -> None:
        self.provider = provider
        self.endpoint = endpoint
        self.known = known or UNKNOWN
        self.dialect = dialect
        self.sent: frozenset[str] = frozenset()
        self._client = client

    async def stream(
        self, request: ModelRequest, order: Order, answer: Answer
    ) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Send the request and yield the events that each network read completes."""
        post = Post(
            url=below(self.endpoint, self.dialect.version, "chat/completions"),
            headers=_headers(order.access),
            body=self._body(request),
            reader=ChatChunks(answer, self.dialect),
            origin=origin_of(self, request.model),
            images_size=sum(map(len, request.images.values())),
        )
        async with aclosing(exchange(self._client, post, order.limits, answer)) as events:
            async for some in events:
                yield some

    def _body(self, request: ModelRequest) -> Object:
        if request.reasoning_effort and needs_cache_markers(request.model):
            request = opening_in_words(request)
        messages = chat_messages(request, self.dialect, origin_of(self, request.model))
        messages = with_content(messages, self.dialect)
        effort = request.reasoning_effort if self.known.is_reasoning else None
        if needs_cache_markers(request.model):
            messages = mark_for_cache(messages)
            calls = [message for message in messages if message.get("tool_calls")]
            if not all(message.get("reasoning_details") for message in calls):
                # With an effort, Claude needs its thinking back with each call.
                effort = None
        optional = {
            "stream_options": {"include_usage": True},
            self.dialect.max_tokens: most_tokens(request, effort),
            "temperature": request.temperature,
            "reasoning_effort": effort,
            "tools": chat_tools(request.tools) or None,
            "tool_choice": request.tool_choice if request.tools else None,
        }
        optional = {
            name: value
            for name, value in optional.items()
            if value is not None and name not in self.dialect.leave_out
        }
        self.sent = optional_fields(optional, messages, self.dialect)
        return {
            "model": request.model.removeprefix(f"{self.provider}/"),
            "messages": messages,
            "stream": True,
            **optional,
        }


def _headers(access: Access) -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {access.api_key}" if access.api_key else "",
        "OpenAI-Organization": access.extra.get("organization", ""),
    }
    return {name: value for name, value in headers.items() if value}
