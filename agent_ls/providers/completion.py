"""One model request, from its arguments to its last event or its trouble.

Owns how a request becomes a call of the model library, which of the library's shortcuts are safe,
and the time limits. Reaches the library through ``ModelLibrary`` and imports none.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import CallClosed, ModelEvent, ModelRequest, StreamFinished
from agent_ls.domain.usage import Usage
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_chunks import ChatChunks
from agent_ls.providers.chat_stream import ChatStream, ErrorInStream
from agent_ls.providers.dialect import (
    chat_messages,
    chat_tools,
    mark_for_cache,
    needs_cache_markers,
)
from agent_ls.providers.failures import error_object_symptom, trouble_of
from agent_ls.providers.frames import Limits, Order, Trouble
from agent_ls.providers.shapes import Object, as_list, as_object
from agent_ls.providers.symptoms import symptom_of
from agent_ls.providers.thoughts import Thoughts

STUB: Final[Object] = {"role": "user", "content": "."}
_DRAIN_S: Final = 0.5

# Room for thinking, which counts as output, on top of what a person wants to read; more than
# litellm's own budgets for these efforts.
_THINKING_TOKENS: Final = {"low": 4_096, "medium": 8_192, "high": 16_384}

Emit = Callable[[ModelEvent], None]


@dataclass(frozen=True, slots=True)
class Route:
    """Where the library sends requests for a model."""

    provider: str
    name: str
    """The model's name at the provider."""
    base: str
    """The provider's address where it is known; else empty."""
    is_plain_chat: bool
    """OpenAI's chat completions as they stand, with nothing of the library's in between."""
    supported: frozenset[str]
    """Optional parameters that may be sent."""
    tried: frozenset[str]
    """Those of them the library would refuse to send, not knowing the model."""
    model: str
    """What the library is told, which may name another API than the person did."""
    max_output_tokens: int = 0
    """The longest answer, thinking included; 0: unknown."""
    is_responses: bool = False
    """OpenAI's Responses API."""
    is_reasoning: bool = False
    """Its answers there carry reasoning that wants to come back."""


class ModelLibrary(Protocol):
    """What is asked of litellm."""

    async def complete(self, **arguments: Any) -> Any:
        """Begin a streamed completion."""
        ...

    def timeout(self, limits: Limits) -> object:
        """Return the HTTP client's own limits."""
        ...

    def route(self, model: str, api_base: str | None) -> Route:
        """Return where requests for a model go; raises for an unknown provider."""
        ...

    def cost_usd(self, route: Route, usage: Usage) -> float:
        """Return what the tokens cost; 0 for models without a known price."""
        ...


class Completion:
    """One request from its first byte to its last event."""

    def __init__(
        self, library: ModelLibrary, thoughts: Thoughts, order: Order, request: ModelRequest
    ) -> None:
        """Take the order and its request, with the whole conversation."""
        self._library = library
        self._thoughts = thoughts
        self._order = order
        self._request = request
        self._answer = Answer(self._request.model)
        self._thought: list[Object] = []
        self._reasoned: list[Object] = []
        self._first_call = ""
        self._is_begun = False

    async def run(self, emit: Emit) -> None:
        """Carry it out and emit its events; errors: any, ``trouble`` knows them all."""
        limits = self._order.limits
        loop = asyncio.get_running_loop()
        heard = 0
        async with asyncio.timeout(limits.first_chunk_s) as deadline:

            def alive() -> None:
                nonlocal heard
                self._is_begun = True
                if self._answer.contents > heard:
                    heard = self._answer.contents
                    deadline.reschedule(loop.time() + limits.idle_s)

            stream = await self._library.complete(**self._arguments())
            try:
                response = self._response(stream)
                if response is None:
                    await self._read_chunks(stream, emit, alive)
                else:
                    await self._read_bytes(response, emit, alive)
            finally:
                with suppress(Exception):
                    await stream.aclose()

    def _arguments(self) -> dict[str, Any]:
        request, access = self._request, self._order.access
        route = self._library.route(request.model, access.api_base)
        messages = self._messages(route)
        effort = self._effort(messages)
        optional: dict[str, Any] = {
            "max_tokens": _most_tokens(request, effort, route),
            "temperature": request.temperature,
            "reasoning_effort": effort,
        }
        body: dict[str, Any] = {"messages": messages}
        if request.tools:
            body |= {"tools": chat_tools(request.tools), "tool_choice": request.tool_choice}
        if self._order.is_lean and route.is_plain_chat:
            # The library and its client walk through every message and every schema; what is in
            # the extra body replaces the stub on the way out and says exactly the same.
            body = {"messages": [STUB], "extra_body": body}
        arguments: dict[str, Any] = {
            "model": route.model,
            **body,
            "api_key": access.api_key,
            "api_base": access.api_base,
            "timeout": self._library.timeout(self._order.limits),
            "allowed_openai_params": sorted(route.tried),
            "stream_options": {"include_usage": True},
            # Not with OpenAI's client: there a refused request would silently be sent again.
            "drop_params": route.provider != "openai" or None,
            **{name: optional[name] for name in optional if name in route.supported},
            **(_stateless(request, route) if route.is_responses else {}),
            **access.extra,
        }
        return {name: value for name, value in arguments.items() if value not in (None, [])}

    def _messages(self, route: Route) -> list[Object]:
        is_marked = needs_cache_markers(self._request.model)
        kept = self._thoughts.by_call if is_marked or route.is_responses else None
        messages = chat_messages(self._request, kept)
        return mark_for_cache(messages) if is_marked else messages

    def _effort(self, messages: list[Object]) -> str | None:
        """Return the effort to ask for; none where thinking that must come back was lost."""
        effort = self._request.reasoning_effort
        if not effort or not needs_cache_markers(self._request.model):
            return effort
        calls = [message for message in messages if message.get("tool_calls")]
        return effort if all(message.get("thinking_blocks") for message in calls) else None

    def _response(self, stream: Any) -> Any:
        """Return the HTTP response behind a stream of OpenAI's client; None for other streams."""
        source = getattr(stream, "completion_stream", None)
        is_openai = type(source).__module__.partition(".")[0] == "openai"
        return getattr(source, "response", None) if self._order.is_lean and is_openai else None

    async def _read_bytes(self, response: Any, emit: Emit, alive: Callable[[], None]) -> None:
        """Read the wire itself, at a fraction of the library's cost per piece."""
        chat = ChatStream(self._answer, response.headers.get("content-type", ""))
        received = response.aiter_bytes()
        async for data in received:
            self._emit_all(chat.feed(data), emit)
            if chat.is_done:
                break
            if chat.is_fed:
                alive()
        self._emit_all(chat.end(self._input_characters()), emit)
        with suppress(Exception):
            # The rest of the body is nothing, but read it must be for the connection to live on.
            async with asyncio.timeout(_DRAIN_S):
                async for _ in received:
                    pass

    async def _read_chunks(self, stream: Any, emit: Emit, alive: Callable[[], None]) -> None:
        """Read through the library, which speaks every provider's dialect."""
        chunks = ChatChunks(self._answer)
        async for chunk in stream:
            found = as_object(chunk.model_dump(exclude_none=True))
            for choice in as_list(found.get("choices"))[:1]:
                delta = as_object(as_object(choice).get("delta"))
                self._thought += map(as_object, as_list(delta.get("thinking_blocks")))
                # They come with the last chunk, after the calls that they led to.
                self._reasoned += map(as_object, as_list(delta.get("reasoning_items")))
            self._emit_all(chunks.take(found), emit)
            alive()
        seen = (stream.received_finish_reason, stream.intermittent_finish_reason)
        if not any(seen):
            # The library makes up a finish reason where the provider gave none.
            raise MalformedAnswer("the stream ended without a finish reason")
        if self._reasoned and self._first_call:
            self._thoughts.keep_items(self._first_call, self._reasoned)
        self._emit_all(self._answer.end(self._input_characters()), emit)

    def _emit_all(self, events: Iterable[ModelEvent], emit: Emit) -> None:
        for event in events:
            if isinstance(event, CallClosed):
                self._first_call = self._first_call or event.provider_id
            if isinstance(event, CallClosed) and self._thought:
                self._thoughts.keep(event.provider_id, self._thought)
                self._thought = []
            if isinstance(event, StreamFinished):
                event = replace(event, usage=self._priced(event.usage))
            emit(event)

    def _input_characters(self) -> int:
        """Return how long the input is, for endpoints that do not count it."""
        if self._answer.usage is not None:
            return 0
        return len(self._request.model_dump_json())

    def _priced(self, usage: Usage) -> Usage:
        route = self._library.route(self._request.model, self._order.access.api_base)
        return usage.model_copy(update={"cost_usd": self._library.cost_usd(route, usage)})

    def trouble(self, error: BaseException) -> Trouble:
        """Return how a failure is reported."""
        access = self._order.access
        route = self._known_route()
        endpoint = access.api_base or (route.base if route else "")
        provider = route.provider if route else ""
        match error:
            case TimeoutError():
                failure, detail = ProviderFailure.TIMEOUT, self._lateness()
            case MalformedAnswer():
                failure, detail = error.failure, error.text
            case _:
                in_stream = isinstance(error, ErrorInStream)
                symptom = (
                    error_object_symptom(error.error)
                    if in_stream
                    else symptom_of(error, is_broken=self._is_begun)
                )
                return trouble_of(
                    symptom, endpoint=endpoint, provider=provider, secret=access.api_key
                )
        return Trouble(failure=failure, detail=detail, endpoint=endpoint, provider=provider)

    def _lateness(self) -> str:
        limits = self._order.limits
        if self._answer.contents:
            return (
                f"It fell silent for {limits.idle_s:g} s in the middle of its answer "
                "(setting provider.idle_s)."
            )
        return (
            f"Nothing of an answer came within {limits.first_chunk_s:g} s "
            "(setting provider.first_chunk_s)."
        )

    def _known_route(self) -> Route | None:
        with suppress(Exception):
            return self._library.route(self._request.model, self._order.access.api_base)
        return None


def _most_tokens(request: ModelRequest, effort: str | None, route: Route) -> int | None:
    """Return the limit of an answer; None: the provider's own.

    Where a model thinks, litellm's own limit for Claude leaves 4,096 tokens for the answer, and
    what a setting grants to the answer would be used up by the thinking.
    """
    room = _THINKING_TOKENS.get(effort or "")
    most = route.max_output_tokens
    if room is None:
        return request.max_output_tokens
    if request.max_output_tokens is not None:
        wanted = request.max_output_tokens + room
        return min(wanted, most) if most else wanted
    return (most or None) if needs_cache_markers(request.model) else None


def _stateless(request: ModelRequest, route: Route) -> dict[str, Any]:
    """Return what lets a conversation go on at the Responses API without being stored there."""
    first = request.messages[0].text if request.messages else ""
    key = hashlib.sha256(f"{request.system}\0{first}".encode("utf-8", "replace")).hexdigest()
    # Not for a model that does not reason: it refuses this.
    include = ["reasoning.encrypted_content"] if route.is_reasoning else []
    return {"store": False, "include": include, "prompt_cache_key": key[:32]}
