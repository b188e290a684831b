"""The model host: the child process that alone imports litellm.

Owns everything litellm: its environment, its quirks, its errors. Speaks frames over the pipes it
was started with, serves any number of requests at once, retries nothing and keeps no key.
``model_host`` starts it as ``python -m agent_ls.providers.litellm_worker``.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agent_ls.domain.model_io import ModelRequest
from agent_ls.domain.usage import Usage
from agent_ls.providers.completion import STUB, Completion, Route
from agent_ls.providers.dialect import needs_cache_markers
from agent_ls.providers.frames import FACTS, FAILED, GONE, PONG, READY, Limits, Order, OrderFrame
from agent_ls.providers.histories import ReceivedHistories
from agent_ls.providers.library_mends import mend_gemini, mend_ollama
from agent_ls.providers.shapes import Object, as_count, as_list, as_object
from agent_ls.providers.thoughts import Thoughts
from agent_ls.providers.worker_pipes import Outbox, Pipes, follow_orders, seal_process, take_pipes

if TYPE_CHECKING:
    import httpx

ENVIRONMENT: Final = {
    # Without it the import loads a `.env` from the working directory.
    "LITELLM_MODE": "PRODUCTION",
    # Without it the import fetches a price table.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # Without it counting tokens of some models asks a hub, for 23 s when there is no network.
    "HF_HUB_OFFLINE": "1",
    "LITELLM_TELEMETRY": "False",
    # By default 100 equal pieces in a row, such as a file of blank lines, are an error.
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",
}


_FACTS_S: Final = 5.0
"""How long a server may take to say how large its model is."""
_GEMINI: Final = "litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini"
_OLLAMA: Final = "litellm.llms.ollama.common_utils"
_MENDED: Final = {
    "gemini": _GEMINI,
    "vertex_ai": _GEMINI,
    "ollama": _OLLAMA,
    "ollama_chat": _OLLAMA,
}
"""Where what is to be mended stands, by provider."""
_RESPONSES: Final = "responses/"
"""Part of a name that asks for OpenAI's Responses API."""


def _is_better_off(facts: Object, base: str) -> bool:
    """Say whether a model of OpenAI's is asked by Responses, where its reasoning is kept.

    Another server under its dialect may know chat alone; some models know Responses alone.
    """
    if facts.get("mode") == "responses":
        return True
    is_own = not base or (urlsplit(base).hostname or "").endswith("openai.com")
    endpoints = as_list(facts.get("supported_endpoints"))
    return is_own and bool(facts.get("supports_reasoning")) and "/v1/responses" in endpoints


class Library:
    """litellm behind the few calls that are made of it."""

    def __init__(self) -> None:
        """Import and configure it; takes seconds."""
        import httpx
        import litellm

        from agent_ls.providers.http_limits import keep_limits, keep_limits_in

        self._keep_limits = keep_limits
        self._litellm: Any = litellm
        self._httpx = httpx
        self._mended: set[str] = set()
        self._routes: dict[tuple[str, str | None], Route] = {}
        litellm.suppress_debug_info = True
        # It would load 40 MB of word pieces to estimate a cost that nobody reads: we use usage.
        litellm.disable_token_counter = True
        self._litellm.disable_aiohttp_transport = True
        http = self._litellm.llms.custom_httpx.http_handler
        keep_limits_in(http.AsyncHTTPHandler)
        # One for all clients, because reading the certificates takes time.
        self._certificates = http.get_ssl_configuration()

    async def warm(self) -> None:
        """Make the first call, which costs most of a second, to nobody."""
        httpx, done = self._httpx, b'data: {"choices": []}\n\ndata: [DONE]\n\n'

        def answer(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=done)

        transport = httpx.MockTransport(answer)
        async with httpx.AsyncClient(transport=transport, verify=self._certificates) as nobody:
            self._litellm.aclient_session = nobody
            stream = await self.complete(
                model="openai/warm",
                messages=[STUB],
                api_key="none",
                api_base="http://model-host.invalid/v1",
                tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
            )
            async for _ in stream.completion_stream:
                pass
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._litellm.aclient_session = self._keep_limits(
            httpx.AsyncClient(limits=limits, verify=self._certificates)
        )

    async def complete(self, **arguments: Any) -> Any:
        """Begin a streamed completion."""
        return await self._litellm.acompletion(
            **arguments,
            stream=True,
            max_retries=0,
            # The handler would import a package for tool servers on the first call with tools.
            _skip_mcp_handler=True,
        )

    def timeout(self, limits: Limits) -> httpx.Timeout:
        """Return the HTTP client's own limits: a little wider than ours, which speak first."""
        longest = max(limits.first_chunk_s, limits.idle_s) + 5
        return self._httpx.Timeout(longest, connect=limits.connect_s)

    def route(self, model: str, api_base: str | None) -> Route:
        """Return where requests for a model go; errors: litellm's, for an unknown provider."""
        key = (model, api_base)
        if key not in self._routes:
            self._routes[key] = self._find_route(model, api_base)
        return self._routes[key]

    def _find_route(self, model: str, api_base: str | None) -> Route:
        name, provider, _, base = self._litellm.get_llm_provider(model=model, api_base=api_base)
        config = self._litellm.utils.ProviderConfigManager.get_provider_chat_config(
            model=name, provider=self._litellm.LlmProviders(provider)
        )
        known = as_list(self._litellm.get_supported_openai_params(name, provider))
        supported = frozenset(str(one) for one in known)
        self._mend(provider)
        plain_name = name.removeprefix(_RESPONSES)
        known_facts = as_object(self._litellm.model_cost.get(plain_name))
        is_responses = provider == "openai" and (
            name != plain_name or _is_better_off(known_facts, api_base or base or "")
        )
        is_plain = provider == "openai" and known_facts.get("mode", "chat") == "chat"
        name = plain_name
        kind = type(config).__name__
        # An agent without tools is none, so tools are tried with every model.
        tried = {"tools", "tool_choice"}
        if kind == "OpenAIUnknownModelConfig":
            tried |= {"reasoning_effort"}
        return Route(
            provider=provider,
            name=name,
            base=api_base or base or "",
            # Other configurations change messages, or go to another API for some requests.
            is_plain_chat=is_plain
            and not is_responses
            and kind in ("OpenAIUnknownModelConfig", "OpenAIGPTConfig"),
            supported=supported | tried,
            tried=frozenset(tried) - supported,
            model=f"openai/{_RESPONSES}{name}" if is_responses else model,
            max_output_tokens=self.facts(model)[1] if needs_cache_markers(model) else 0,
            is_responses=is_responses,
            is_reasoning=bool(known_facts.get("supports_reasoning", True)),
        )

    def _mend(self, provider: str) -> None:
        """Set right what is wrong with one provider, once; loads its part of the library."""
        name = _MENDED.get(provider)
        if name is None or name in self._mended:
            return
        self._mended.add(name)
        module = importlib.import_module(name)
        if provider.startswith("ollama"):
            mend_ollama(module.OllamaModelInfo)
        else:
            mend_gemini(module.VertexGeminiConfig)

    def cost_usd(self, route: Route, usage: Usage) -> float:
        """Return what the tokens cost; 0 for models it has no price for."""
        details = {
            "cached_tokens": usage.cache_read_tokens,
            "cache_creation_tokens": usage.cache_write_tokens,
        }
        with suppress(Exception):
            prompt, completion = self._litellm.cost_per_token(
                model=route.name,
                custom_llm_provider=route.provider,
                usage_object=self._litellm.Usage(
                    prompt_tokens=usage.input_tokens,
                    completion_tokens=usage.output_tokens,
                    total_tokens=usage.total_tokens,
                    prompt_tokens_details=details,
                    cache_read_input_tokens=usage.cache_read_tokens,
                    cache_creation_input_tokens=usage.cache_write_tokens,
                ),
            )
            return float(prompt) + float(completion)
        return 0.0

    def facts(self, model: str, api_base: str | None = None) -> tuple[int, int, float, float]:
        """Return window and longest answer in tokens, and what a token of input and of output
        costs in USD; 0 for what is not known.

        Blocks: for models of a local server litellm asks that server.
        """
        with suppress(Exception):
            self._mend(model.partition("/")[0])
            named = model.replace(f"/{_RESPONSES}", "/", 1)
            found = as_object(dict(self._litellm.get_model_info(named, api_base=api_base)))
            prices = [found.get(f"{name}_cost_per_token") for name in ("input", "output")]
            paid = [float(one) if isinstance(one, int | float) else 0.0 for one in prices]
            window, answer = found.get("max_input_tokens"), found.get("max_output_tokens")
            return as_count(window), as_count(answer), paid[0], paid[1]
        return 0, 0, 0.0, 0.0


class Host:
    """Carries out orders until there is nobody left to give any."""

    def __init__(self, outbox: Outbox) -> None:
        """Take the way back to the server."""
        self._outbox = outbox
        self._thoughts = Thoughts()
        self._histories = ReceivedHistories()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._library: asyncio.Future[Library] = asyncio.get_running_loop().create_future()

    async def load(self) -> None:
        """Import the library and warm it; orders wait until that is done."""
        # The import leaves half a million objects behind, hardly any of them garbage. To look at
        # them again and again while they become more takes a quarter of the start, and later too.
        gc.disable()
        library = Library()
        await library.warm()
        gc.freeze()
        gc.enable()
        self._library.set_result(library)
        self._outbox.report(0, READY)

    def take(self, frame: OrderFrame) -> None:
        """Begin, or cancel."""
        order = frame.order
        match order.op:
            case "request":
                # Right away, because the next order may build on this conversation.
                request = self._read(order, frame.payload)
                self._begin(order.number, self._request(order, request))
            case "facts":
                self._begin(order.number, self._facts(order))
            case "cancel":
                if task := self._tasks.get(order.number):
                    task.cancel()
            case "ping":
                self._outbox.report(order.number, PONG)

    def _begin(self, number: int, work: Coroutine[object, object, None]) -> None:
        task = self._tasks[number] = asyncio.get_running_loop().create_task(work)

        def ended(_: asyncio.Task[None]) -> None:
            self._tasks.pop(number, None)

        task.add_done_callback(ended)

    def _read(self, order: Order, payload: bytes) -> ModelRequest:
        request = ModelRequest.model_validate_json(payload)
        messages = self._histories.join(order.slot, order.kept, request.messages)
        return request.model_copy(update={"messages": messages})

    async def _request(self, order: Order, request: ModelRequest) -> None:
        number, outbox = order.number, self._outbox
        library = await asyncio.shield(self._library)
        completion = Completion(library, self._thoughts, order, request)
        try:
            await completion.run(lambda event: outbox.event(number, event))
        except asyncio.CancelledError:
            outbox.report(number, GONE)
        except Exception as error:
            outbox.report(number, FAILED, completion.trouble(error).model_dump())

    async def _facts(self, order: Order) -> None:
        library = await asyncio.shield(self._library)
        facts = 0, 0, 0.0, 0.0
        with suppress(TimeoutError):
            async with asyncio.timeout(_FACTS_S):
                base = order.access.api_base
                facts = await asyncio.to_thread(library.facts, order.model, base)
        self._outbox.report(order.number, FACTS, *facts)


def main() -> None:
    """Serve until the server closes its pipe."""
    pipes = take_pipes()
    seal_process()
    os.environ.update(ENVIRONMENT)
    os.chdir(Path(os.sep))
    asyncio.run(_serve(pipes))


async def _serve(pipes: Pipes) -> None:
    loop = asyncio.get_running_loop()
    host = Host(Outbox(pipes.reports, loop))
    follow_orders(pipes.orders, loop, host.take)
    await host.load()
    await loop.create_future()


if __name__ == "__main__":
    main()
