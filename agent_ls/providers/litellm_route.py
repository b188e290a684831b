"""Sends requests through litellm, for providers that have no plain route.

The only module that imports litellm; its environment and the patches for its bugs are here.
The import takes seconds and 180 MB, so it waits for the first request that needs it.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import httpx

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent, ModelRequest
from agent_ls.providers.addresses import is_openais_own
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_request import (
    chat_messages,
    chat_tools,
    mark_for_cache,
    most_tokens,
    needs_cache_markers,
    optional_fields,
    origin_of,
)
from agent_ls.providers.chat_stream import ChatChunks
from agent_ls.providers.dialects import Dialect, dialect_of
from agent_ls.providers.frames import Order
from agent_ls.providers.http_client import client_timeout, keep_limits
from agent_ls.providers.opening_calls import opening_in_words
from agent_ls.providers.prices import RESPONSES, UNKNOWN, KnownModel, read_row
from agent_ls.providers.shapes import Object, as_list, as_object

ENVIRONMENT: Final = {
    # Without it the import loads a `.env` from the working directory.
    "LITELLM_MODE": "PRODUCTION",
    # Without it the import fetches a price table.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # Without it, counting some models' tokens asks a hub: 23 s when there is no network.
    "HF_HUB_OFFLINE": "1",
    "LITELLM_TELEMETRY": "False",
    # By default 100 equal pieces in a row, such as a file of blank lines, are an error.
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",
}
_GEMINI: Final = "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
_OLLAMA: Final = "litellm.llms.ollama.common_utils"


class Library:
    """The few functions of litellm that we use."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Import and configure litellm; blocks for seconds, so call it on a thread.

        ``client`` sends the requests to OpenAI.
        """
        os.environ.update(ENVIRONMENT)
        # The import leaves half a million objects, hardly any of them garbage. Without the freeze,
        # garbage collection over them takes a quarter of the start-up, and time later.
        gc.disable()
        try:
            import litellm

            gc.freeze()
        finally:
            gc.enable()
        self._litellm: Any = litellm
        litellm.suppress_debug_info = True
        # The counter would load 40 MB to estimate a cost that we compute from usage instead.
        litellm.disable_token_counter = True
        self._litellm.disable_aiohttp_transport = True
        # Else Copilot would get the system prompt as an answer of its own.
        self._litellm.disable_copilot_system_to_assistant = True
        self._litellm.aclient_session = client
        _keep_limits_in(self._litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler)

    async def complete(self, **arguments: Any) -> Any:
        """Begin a streamed completion."""
        return await self._litellm.acompletion(
            **arguments,
            stream=True,
            max_retries=0,
            # The handler would import an MCP package on the first call with tools.
            _skip_mcp_handler=True,
        )

    def route(self, model: str, api_base: str | None, known: KnownModel | None) -> LitellmRoute:
        """Return the route to a model; errors: litellm's, for an unknown provider."""
        if model.startswith("ollama/"):
            # Its other interface has no tools.
            model = model.replace("ollama/", "ollama_chat/", 1)
        name, provider, _, base = self._litellm.get_llm_provider(model=model, api_base=api_base)
        _mend(provider)
        listed = as_list(self._litellm.get_supported_openai_params(name, provider))
        supported = frozenset(map(str, listed))
        # The agent cannot work without tools, so they are sent to every model.
        tried = frozenset({"tools", "tool_choice"})
        if provider == "openai" and known is None:
            tried |= {"reasoning_effort"}
        plain_name = name.removeprefix(RESPONSES)
        is_responses = provider == "openai" and (
            name != plain_name or _is_better_off(known or UNKNOWN, api_base or base or "")
        )
        return LitellmRoute(
            library=self,
            known=known or UNKNOWN,
            provider=provider,
            endpoint=api_base or base or "",
            model=f"openai/{RESPONSES}{plain_name}" if is_responses else model,
            supported=supported | tried,
            tried=tried - supported,
            is_responses=is_responses,
            dialect=dialect_of(provider, api_base or base or "", model),
        )

    def look_up(self, model: str, api_base: str | None) -> KnownModel | None:
        """Return litellm's facts about a model that its table does not list; None without any.

        Blocks: for a local server's model it asks that server.
        """
        with suppress(Exception):
            _mend(model.partition("/")[0])
            return read_row(as_object(dict(self._litellm.get_model_info(model, api_base=api_base))))
        return None


@dataclass(slots=True, eq=False)
class LitellmRoute:
    """How litellm reaches one model."""

    library: Library
    known: KnownModel
    provider: str
    endpoint: str
    """The provider's address; empty if unknown."""
    model: str
    """The name given to litellm; it may select another API than the user's name does."""
    supported: frozenset[str]
    """Optional parameters that may be sent."""
    tried: frozenset[str]
    """Parameters in ``supported`` that litellm would otherwise not send for this model."""
    is_responses: bool
    dialect: Dialect
    sent: frozenset[str] = frozenset()

    async def stream(
        self, request: ModelRequest, order: Order, answer: Answer
    ) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Send the request and yield the events that each chunk completes."""
        stream = await self.library.complete(**self._arguments(request, order))
        try:
            chunks = ChatChunks(answer, self.dialect)
            async for chunk in stream:
                yield list(chunks.take(as_object(chunk.model_dump(exclude_none=True))))
            if not (stream.received_finish_reason or stream.intermittent_finish_reason):
                # litellm invents a finish reason if the provider sent none.
                raise MalformedAnswer("the stream ended without a finish reason")
            # The input's size is needed only to estimate usage that was not reported.
            size = 0 if answer.usage else request.text_size
            self._refuse_cut_prompt(order, answer)
            yield list(answer.end(size, origin_of(self, request.model)))
        finally:
            with suppress(Exception):
                await stream.aclose()

    def _arguments(self, request: ModelRequest, order: Order) -> dict[str, Any]:
        access, refused = order.access, self.dialect.leave_out
        messages = self._messages(request)
        effort = self._effort(request, messages)
        most = self.known.card.max_output_tokens if needs_cache_markers(request.model) else 0
        optional: dict[str, Any] = {
            "max_tokens": most_tokens(request, effort, most),
            "temperature": request.temperature,
            "reasoning_effort": effort,
        }
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "api_key": access.api_key,
            "api_base": access.api_base,
            "timeout": client_timeout(order.limits),
            "allowed_openai_params": sorted(self.tried),
            "stream_options": {"include_usage": True},
            # Not for OpenAI: its client would silently resend a refused request.
            "drop_params": self.provider != "openai" or None,
            **{name: optional[name] for name in optional if name in self.supported - refused},
            **(self._stateless(request) if self.is_responses else {}),
            **access.extra,
        }
        if self.dialect.window_option:
            arguments[self.dialect.window_option] = self._window(order)
        if request.tools:
            arguments["tools"] = chat_tools(request.tools)
            arguments["tool_choice"] = request.tool_choice
        arguments = {
            name: value
            for name, value in arguments.items()
            if value not in (None, []) and name not in refused
        }
        self.sent = optional_fields(
            {*optional, "tool_choice", "stream_options"} & {*arguments}, messages, self.dialect
        )
        return arguments

    def _refuse_cut_prompt(self, order: Order, answer: Answer) -> None:
        """Raise if the server read no more of the prompt than its window, so cut it silently."""
        window = self._window(order) if self.dialect.window_option else 0
        if window and answer.usage and answer.usage.input_tokens >= window:
            raise MalformedAnswer(
                f"the prompt is longer than the window of {window} tokens, and was cut",
                ProviderFailure.CONTEXT_OVERFLOW,
            )

    def _window(self, order: Order) -> int:
        """Return the window to load a local model with, the same for each request."""
        most = self.dialect.most_window_tokens
        return order.window_tokens or min(self.known.card.window_tokens or most, most)

    def _messages(self, request: ModelRequest) -> list[Object]:
        if request.reasoning_effort and needs_cache_markers(request.model):
            request = opening_in_words(request)
        messages = chat_messages(request, self.dialect, origin_of(self, request.model))
        return mark_for_cache(messages) if needs_cache_markers(request.model) else messages

    def _effort(self, request: ModelRequest, messages: list[Object]) -> str | None:
        """Return the reasoning effort; None if thinking that must be sent back was lost."""
        effort = request.reasoning_effort
        if not effort or not needs_cache_markers(request.model):
            return effort
        calls = [message for message in messages if message.get("tool_calls")]
        return effort if all(message.get("thinking_blocks") for message in calls) else None

    def _stateless(self, request: ModelRequest) -> dict[str, Any]:
        """Return the arguments that continue a Responses conversation without storing it there."""
        first = request.messages[0].text if request.messages else ""
        key = hashlib.sha256(f"{request.system}\0{first}".encode("utf-8", "replace")).hexdigest()
        # A model that does not reason rejects this.
        include = ["reasoning.encrypted_content"] if self.known.is_reasoning else []
        return {"store": False, "include": include, "prompt_cache_key": key[:32]}


def _is_better_off(known: KnownModel, base: str) -> bool:
    """Say whether an OpenAI model should use the Responses API, which keeps its reasoning.

    Other servers with OpenAI's API may support chat only; some models support Responses only.
    """
    if not known.is_chat:
        return True
    return is_openais_own(base) and known.is_reasoning and known.has_responses


def _keep_limits_in(handler: Any) -> None:
    """Apply our limits to every HTTP client that litellm's handler class creates.

    Also turn off the class's own resending, because retries are the loop's decision.
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


def _mend(provider: str) -> None:
    """Patch litellm's bugs for one provider; calling it again changes nothing."""
    if provider in ("gemini", "vertex_ai"):
        _mend_gemini(importlib.import_module(_GEMINI).VertexGeminiConfig)
    elif provider in ("ollama", "ollama_chat"):
        _mend_ollama(importlib.import_module(_OLLAMA).OllamaModelInfo)


def _mend_gemini(config: Any) -> None:
    """Report a finish reason only if Gemini sent one.

    Otherwise litellm takes each chunk for the last, and half an answer for a complete one.
    """
    known = config._check_finish_reason
    if known.__module__ == __name__:
        return

    def check_finish_reason(message: object, finish_reason: str | None) -> str | None:
        return known(message, finish_reason) if finish_reason else None

    config._check_finish_reason = staticmethod(check_finish_reason)


def _mend_ollama(info: Any) -> None:
    """Ask an Ollama server about a model only outside the main thread.

    Otherwise each request asks it three more times and blocks the event loop meanwhile.
    """
    ask = info.get_runtime_model_info
    if ask.__module__ == __name__:
        return

    def get_runtime_model_info(
        self: object, model: str, api_base: str | None = None, api_key: str | None = None
    ) -> dict[str, Any]:
        if threading.current_thread() is not threading.main_thread():
            return ask(self, model, api_base, api_key)
        unknown = dict.fromkeys(("max_tokens", "max_input_tokens", "max_output_tokens"))
        costs = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        return {"key": model, "litellm_provider": "ollama", "mode": "chat", **costs, **unknown}

    info.get_runtime_model_info = get_runtime_model_info
