"""Asks the cheap model for a short text, and records the request with its cost.

Policies decide what is asked and what an answer means.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.events import AdviceGiven
from agent_ls.domain.messages import UserMessage
from agent_ls.domain.model_io import ModelRequest, StreamFinished, TextDelta, TextWasReasoning
from agent_ls.domain.usage import Usage
from agent_ls.loop.options import ModelOptions
from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.models import Provider
from agent_ls.loop.state.recorder import Recorder

_THINKING_TOKENS = 4_000
"""Reserve for models that always think before they answer."""


class SideModel:
    """The ``Adviser`` of one session."""

    def __init__(
        self, recorder: Recorder, provider: Provider, clock: Clock, options: ModelOptions
    ) -> None:
        self._recorder = recorder
        self._provider = provider
        self._clock = clock
        self._options = options

    async def ask(
        self,
        system: str,
        text: str,
        *,
        origin: str,
        max_tokens: int = 1_000,
    ) -> str:
        """Return the answer, see ``Adviser``. Makes one attempt: callers have a fallback."""
        model = self._options.cheap or self._recorder.state.model
        request = ModelRequest(
            model=model,
            system=system,
            messages=(UserMessage(text=text),),
            # The prompt limits the text's length; this limit must not cut off the thinking.
            max_output_tokens=max_tokens + _THINKING_TOKENS,
        )
        started_s = self._clock.monotonic_s()
        said, usage, error = await self._streamed(request)
        await self._recorder.emit(
            AdviceGiven(
                origin=origin,
                model=model,
                text=said,
                failure=error.failure if error else None,
                message=error.message if error else "",
                usage=usage,
                duration_ms=int((self._clock.monotonic_s() - started_s) * 1000),
            )
        )
        if error is not None:
            raise error
        return said

    async def _streamed(self, request: ModelRequest) -> tuple[str, Usage, ProviderError | None]:
        """Return text, usage and error; the text is empty if there is an error."""
        parts: list[str] = []
        usage = Usage()
        limit_s = self._options.advice_timeout_s
        try:
            async with (
                asyncio.timeout(limit_s),
                aclosing(self._provider.stream(request)) as events,
            ):
                async for event in events:
                    if isinstance(event, TextDelta):
                        parts.append(event.text)
                    elif isinstance(event, TextWasReasoning):
                        parts.clear()
                    elif isinstance(event, StreamFinished):
                        usage = event.usage
        except ProviderError as error:
            return "", usage, error
        except TimeoutError:
            words = f"{request.model} gave no answer within {limit_s:.0f} s."
            return "", usage, ProviderError(ProviderFailure.TIMEOUT, words)
        said = "".join(parts).strip()
        if not said:
            words = f"{request.model} answered without a text."
            return "", usage, ProviderError(ProviderFailure.BROKEN_STREAM, words)
        return said, usage, None
