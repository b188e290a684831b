"""Runs one model request over its route, up to the last event or the failure.

Applies time limits and prices; the route knows the provider's protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent, ModelRequest, StreamFinished
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_stream import ErrorInStream
from agent_ls.providers.failures import error_object_symptom, trouble_of
from agent_ls.providers.frames import Order, Trouble
from agent_ls.providers.prices import KnownModel
from agent_ls.providers.symptoms import symptom_of

Emit = Callable[[ModelEvent], None]


class Route(Protocol):
    """Sends requests to one model."""

    provider: str
    endpoint: str
    """The provider's address; empty if unknown."""
    known: KnownModel

    def stream(
        self, request: ModelRequest, order: Order, answer: Answer
    ) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """Send the request and yield events as they come, ``StreamFinished`` as the last.

        Errors: any exception; ``Completion.trouble`` converts it.
        """
        ...


class Completion:
    """One request to a model."""

    def __init__(self, order: Order, request: ModelRequest) -> None:
        self._order = order
        self._request = request
        self._answer = Answer(request.model)
        self._route: Route | None = None
        self._is_begun = False

    async def run(self, route: Route, emit: Emit) -> None:
        """Send the request and emit its events. Errors: any exception; ``trouble`` converts it."""
        self._route = route
        limits = self._order.limits
        loop = asyncio.get_running_loop()
        heard = 0
        async with (
            asyncio.timeout(limits.first_chunk_s) as deadline,
            aclosing(route.stream(self._request, self._order, self._answer)) as received,
        ):
            async for events in received:
                self._is_begun = True
                for event in events:
                    emit(self._priced(route, event))
                if self._answer.contents > heard:
                    heard = self._answer.contents
                    deadline.reschedule(loop.time() + limits.idle_s)

    def _priced(self, route: Route, event: ModelEvent) -> ModelEvent:
        if not isinstance(event, StreamFinished):
            return event
        cost = {"cost_usd": route.known.cost_usd(event.usage)}
        return replace(event, usage=event.usage.model_copy(update=cost))

    def trouble(self, error: BaseException) -> Trouble:
        """Return the report to the server for an exception of this request."""
        access, route = self._order.access, self._route
        endpoint = access.api_base or (route.endpoint if route else "")
        provider = route.provider if route else ""
        match error:
            case TimeoutError():
                failure, detail = ProviderFailure.TIMEOUT, self._lateness()
            case MalformedAnswer():
                failure, detail = error.failure, error.text
            case _:
                symptom = (
                    error_object_symptom(error.error)
                    if isinstance(error, ErrorInStream)
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
