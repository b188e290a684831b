"""Runs one model request over its route, up to the last event or the failure.

Applies time limits and prices; the route knows the provider's protocol.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, Protocol

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelEvent, ModelRequest, StreamFinished
from agent_ls.providers.addresses import has_path
from agent_ls.providers.answer import Answer, MalformedAnswer
from agent_ls.providers.chat_request import wire_name
from agent_ls.providers.chat_stream import ErrorInStream
from agent_ls.providers.dialects import MISPLACED, Dialect, adapted, lasting
from agent_ls.providers.failures import Symptom, classify, error_object_symptom, trouble_of
from agent_ls.providers.frames import Order, Trouble
from agent_ls.providers.image_types import in_taken_types
from agent_ls.providers.plain_route import PlainRoute
from agent_ls.providers.prices import KnownModel
from agent_ls.providers.symptoms import symptom_of
from agent_ls.safety.keys import without_keys

Emit = Callable[[ModelEvent], None]

_MAX_CHANGES: Final = 8
"""How often a refused request is changed; more refusals are the user's to read."""
_CHANGEABLE: Final = frozenset(
    {
        *(ProviderFailure.BAD_REQUEST, ProviderFailure.UNKNOWN_MODEL, ProviderFailure.BAD_IMAGE),
        # llama.cpp answers so where the model's template raises.
        ProviderFailure.SERVER,
    }
)


class Route(Protocol):
    """Sends requests to one model."""

    provider: str
    endpoint: str
    """The provider's address; empty if unknown."""
    known: KnownModel
    dialect: Dialect
    sent: frozenset[str]
    """Optional fields of the last request."""

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
        self._answer = self._new_answer()
        self._route: Route | None = None
        self._is_begun = False

    async def run(self, route: Route, emit: Emit, learn: Callable[[Dialect], None]) -> None:
        """Send the request and emit its events; again if the endpoint refuses what can be changed.

        ``learn`` gets the dialect that the endpoint taught.
        Errors: any exception; ``trouble`` converts it.
        """
        self._route = route
        for _ in range(_MAX_CHANGES):
            try:
                return await self._send(route, emit, learn)
            except Exception as error:
                changed = None if self._is_begun else self._changed(route, error)
                if changed is None:
                    raise
                route.dialect = changed
                self._answer = self._new_answer()
        return await self._send(route, emit, learn)

    async def _send(self, route: Route, emit: Emit, learn: Callable[[Dialect], None]) -> None:
        limits = self._order.limits
        loop = asyncio.get_running_loop()
        request = await in_taken_types(self._request, route.dialect)
        async with (
            asyncio.timeout(limits.first_chunk_s) as deadline,
            aclosing(route.stream(request, self._order, self._answer)) as received,
        ):
            async for events in received:
                for event in events:
                    if not self._is_begun:
                        # What did not help is not kept.
                        learn(lasting(route.dialect))
                    self._is_begun = True
                    emit(self._priced(route, event))
                # A server that sends pings lives, so it may take until the step's own limit.
                wait_s = limits.idle_s if self._answer.contents else limits.first_chunk_s
                deadline.reschedule(loop.time() + wait_s)

    def _changed(self, route: Route, error: Exception) -> Dialect | None:
        """Return the dialect in which the endpoint may take the request; None: it will not."""
        symptom = self._symptom(error)
        if isinstance(route, PlainRoute) and _is_misplaced(route, symptom):
            return route.dialect.model_copy(update={"version": MISPLACED.version})
        if classify(symptom) not in _CHANGEABLE:
            return None
        return adapted(route.dialect, route.sent, f"{symptom.kind} {symptom.text}")

    def _symptom(self, error: BaseException) -> Symptom:
        if isinstance(error, ErrorInStream):
            symptom = error_object_symptom(error.error)
        else:
            symptom = symptom_of(error, is_broken=self._is_begun)
        return replace(symptom, has_images=bool(self._request.images))

    def _new_answer(self) -> Answer:
        return Answer(self._request.model, [wire_name(tool.name) for tool in self._request.tools])

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
                return trouble_of(
                    self._symptom(error),
                    endpoint=endpoint,
                    provider=provider,
                    secrets=access.secrets,
                )
        return Trouble(
            failure=failure,
            detail=without_keys(detail, access.secrets),
            endpoint=endpoint,
            provider=provider,
            cause=type(error).__name__,
        )

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


def _is_misplaced(route: Route, symptom: Symptom) -> bool:
    """Say whether the address may lack only its version."""
    if route.dialect.version or has_path(route.endpoint):
        return False
    is_page = re.search(MISPLACED.words, symptom.text, re.IGNORECASE)
    return symptom.status in MISPLACED.status or bool(is_page)
