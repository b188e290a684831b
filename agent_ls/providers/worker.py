"""The model host: a child process that talks to models, so that the server loads no model library.

Serves any number of requests at once over the pipes it was started with. It retries nothing and
keeps no key. ``host_process`` starts it as ``python -m agent_ls.providers.worker``.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.model_io import ModelRequest
from agent_ls.providers.answer import MalformedAnswer
from agent_ls.providers.anthropic_route import ADDRESS, AnthropicRoute
from agent_ls.providers.completion import Completion, Route
from agent_ls.providers.dialects import Dialect, dialect_of, takes_no_images
from agent_ls.providers.frames import (
    CODE,
    FACTS,
    FAILED,
    GONE,
    MODELS,
    SIGNED_IN,
    Access,
    Order,
    Trouble,
    report_event,
)
from agent_ls.providers.http_client import open_blocking_client, open_client, open_local_client
from agent_ls.providers.key_variables import provider_of
from agent_ls.providers.local_windows import window_at
from agent_ls.providers.missing_models import with_models
from agent_ls.providers.offered_models import offered
from agent_ls.providers.plain_route import PlainRoute, plain_address
from agent_ls.providers.prices import UNKNOWN, KnownModel, ModelCard, PriceTable
from agent_ls.providers.sign_ins import SIGN_INS, SignIn, sign_in_of
from agent_ls.providers.worker_pipes import Outbox, Pipes, follow_orders, seal_process, take_pipes
from agent_ls.safety.addresses import is_loopback

if TYPE_CHECKING:
    import httpx

    from agent_ls.providers.device_flow import Account, DeviceCode
    from agent_ls.providers.litellm_route import Library

_FACTS_S: Final = 5.0
"""Time limit for looking up a model's facts, which may ask its server."""
_LOOK_S: Final = 1.0
_PRIVATE: Final = 0o077


class Host:
    """Carries out the server's orders, several at once."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._local_client = open_local_client()
        self._remote_client: httpx.AsyncClient | None = None
        self._table = PriceTable()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._spoken: dict[tuple[str, str, str], Dialect] = {}
        """Dialects by provider, endpoint and model, with what endpoints have refused."""
        self._loading: asyncio.Future[Library] | None = None
        self._accounts: dict[str, Account] = {}

    def take(self, order: Order) -> None:
        """Start the order, or cancel the order with the same number."""
        match order:
            case Order(op="request", request=ModelRequest() as request):
                self._begin(order.number, self._request(order, request))
            case Order(op="facts"):
                self._begin(order.number, self._facts(order))
            case Order(op="models"):
                self._begin(order.number, self._models(order))
            case Order(op="sign_in"):
                self._begin(order.number, self._sign_in(order))
            case _:
                if task := self._tasks.get(order.number):
                    task.cancel()

    def _begin(self, number: int, work: Coroutine[object, object, None]) -> None:
        task = self._tasks[number] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _request(self, order: Order, request: ModelRequest) -> None:
        report = partial(self._outbox.report, order.number)
        try:
            if trouble := await self._complete(order, request):
                report(FAILED, trouble.model_dump())
        except asyncio.CancelledError:
            report(GONE, "The request was cancelled.")

    async def _complete(self, order: Order, request: ModelRequest) -> Trouble | None:
        """Report the answer's events; return why there is no answer."""
        report = partial(self._outbox.report, order.number)
        completion = Completion(order, request)
        route: Route | None = None
        try:
            if sign_in := sign_in_of(provider_of(request.model)):
                order = await self._signed_in(sign_in, order)
                completion = Completion(order, request)
            route = await self._route(request.model, order.access)
            spoken = (route.provider, route.endpoint, request.model)
            route.dialect = self._spoken.get(spoken, route.dialect)
            await completion.run(
                route,
                lambda event: report(*report_event(event)),
                partial(self._spoken.__setitem__, spoken),
            )
        except Exception as error:
            trouble = completion.trouble(error)
            if trouble.failure != ProviderFailure.UNKNOWN_MODEL:
                return trouble
            if route and route.endpoint and route.dialect.models:
                client, dialect = self._client(route.endpoint), route.dialect
                trouble = await with_models(client, route.endpoint, dialect, order.access, trouble)
            if not (trouble.models or trouble.is_ollama or order.access.api_base):
                near = await asyncio.to_thread(self._table.near, request.model)
                trouble = trouble.model_copy(update={"near": near})
            return trouble
        return None

    async def _signed_in(self, sign_in: SignIn, order: Order) -> Order:
        """Return the order with the token of an account as its key.

        litellm reads the same token from its file. It is renewed here, as litellm would block the
        event loop for it. Errors: as of ``Account.token``.
        """
        account = await self._account(sign_in)
        token = await asyncio.to_thread(account.token)
        access = order.access.model_copy(update={"api_key": token})
        return order.model_copy(update={"access": access})

    async def _account(self, sign_in: SignIn) -> Account:
        """Return an account. Errors: ``MalformedAnswer`` for an unusable address or proxy."""
        if sign_in.name not in self._accounts:
            await self._library(None)
            # Only now: it imports litellm, which must be configured first.
            from agent_ls.providers.litellm_accounts import account

            made = await asyncio.to_thread(account, sign_in, open_blocking_client())
            self._accounts[sign_in.name] = made
        return self._accounts[sign_in.name]

    async def _sign_in(self, order: Order) -> None:
        """Sign in on a thread; report the code for the user, then the end."""
        report = partial(self._outbox.report, order.number)
        loop = asyncio.get_running_loop()

        def tell(code: DeviceCode) -> None:
            words = (CODE, code.page, code.user_code, code.valid_s)
            loop.call_soon_threadsafe(report, *words)

        try:
            account = await self._account(SIGN_INS[order.sign_in])
            from agent_ls.providers.device_flow import sign_in

            await asyncio.to_thread(sign_in, account, tell)
            report(SIGNED_IN)
        except Exception as error:
            about = ModelRequest(model=order.model, system="", messages=())
            report(FAILED, Completion(order, about).trouble(error).model_dump())

    async def _models(self, order: Order) -> None:
        """Report the models of the order's providers."""
        try:
            found = await offered(order.listed, self._client)
        except MalformedAnswer as error:
            self._outbox.report(order.number, GONE, f"The models cannot be listed: {error.text}.")
            return
        models = [one.model_dump() for one in found.models]
        self._outbox.report(order.number, MODELS, models, list(found.problems))

    async def _route(self, model: str, access: Access) -> Route:
        """Return the route to a model.

        Errors: ``MalformedAnswer`` or litellm's own for an unknown provider;
        ``ConnectionRefusedError`` if no local server listens.
        """
        known = self._table.find(model)
        provider = _provider(model, known, access.api_base)
        if not provider:
            raise MalformedAnswer("", ProviderFailure.UNKNOWN_MODEL)
        if provider == "anthropic":
            base = access.api_base or ADDRESS
            dialect = dialect_of(provider, base, model)
            return AnthropicRoute(self._client(base), base, known, dialect)
        address = plain_address(model, provider, access.api_base, known)
        if address:
            dialect = dialect_of(provider, address, model)
            return PlainRoute(self._client(address), provider, address, known, dialect)

        self._client(access.api_base or "")
        library = await self._library(access.api_base)
        known = known or library.look_up(model, access.api_base)
        return library.route(model, access.api_base, known)

    def _client(self, address: str) -> httpx.AsyncClient:
        """Return the client for an address. Errors: ``UnusableProxy``."""
        if is_loopback(address):
            return self._local_client
        if self._remote_client is None:
            self._remote_client = open_client()
        return self._remote_client

    async def _library(self, base: str | None) -> Library:
        """Return litellm, imported on a thread at first use, for a server at this address.

        Errors: ``ConnectionRefusedError`` before the import, if the server does not listen.
        """
        if base and not (self._loading and self._loading.done()):
            await _look_there(base)
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._load))
        return await asyncio.shield(self._loading)

    def _load(self) -> Library:
        from agent_ls.providers.litellm_route import Library

        return Library(self._client(""))

    async def _facts(self, order: Order) -> None:
        """Report what is known of a model; zeros if that fails, as its request will say why."""
        card = UNKNOWN.card
        with suppress(Exception):
            card = await self._card(order)
        self._outbox.report(order.number, FACTS, card.model_dump())

    async def _card(self, order: Order) -> ModelCard:
        model, base = order.model, order.access.api_base
        known = self._table.find(model)
        provider = _provider(model, known, base)
        address = plain_address(model, provider, base, known) if provider else ""
        if provider not in ("", "anthropic") and not address:
            known = await self._look_up(model, base, known)
        card = (known or UNKNOWN).card
        if not card.window_tokens and base and provider != "anthropic":
            window = 0
            with suppress(TimeoutError):
                async with asyncio.timeout(_FACTS_S):
                    window = await window_at(self._client(base), address or base, model)
            card = card.model_copy(update={"window_tokens": window})
        if card.images is None and takes_no_images(model):
            card = card.model_copy(update={"images": False})
        if most := dialect_of(provider, base or "", model).most_window_tokens:
            window = min(card.window_tokens or most, most)
            card = card.model_copy(update={"window_tokens": window})
        return card

    async def _look_up(
        self, model: str, base: str | None, known: KnownModel | None
    ) -> KnownModel | None:
        """Return litellm's facts about a model whose table row is this one, if it has one."""
        # A request to this model usually follows, so load litellm meanwhile.
        loading = asyncio.ensure_future(self._library(base))
        # Its error is the request's to tell.
        loading.add_done_callback(lambda one: one.cancelled() or one.exception())
        if known is None:
            with suppress(TimeoutError, ConnectionRefusedError):
                library = await loading
                async with asyncio.timeout(_FACTS_S):
                    known = await asyncio.to_thread(library.look_up, model, base)
        return known


def _provider(model: str, known: KnownModel | None, base: str | None) -> str:
    return provider_of(model) or (known.provider if known else provider_of(model, base or ""))


async def _look_there(url: str) -> None:
    """Raise ``ConnectionRefusedError`` if nothing listens at a local address."""
    place = urlsplit(url)
    if not is_loopback(url):
        return
    try:
        async with asyncio.timeout(_LOOK_S):
            _, writer = await asyncio.open_connection(
                place.hostname, place.port or (443 if place.scheme == "https" else 80)
            )
            writer.close()
    except TimeoutError:
        return
    except OSError as error:
        raise ConnectionRefusedError(*error.args) from None


def main() -> None:
    """Serve until the server closes its pipe."""
    pipes = take_pipes()
    seal_process()
    # litellm writes tokens of sign-ins with the usual mode of files.
    os.umask(_PRIVATE)
    os.chdir(Path(os.sep))
    asyncio.run(_serve(pipes))


async def _serve(pipes: Pipes) -> None:
    loop = asyncio.get_running_loop()
    host = Host(Outbox(pipes.reports, loop))
    follow_orders(pipes.orders, loop, host.take)
    await loop.create_future()


if __name__ == "__main__":
    main()
