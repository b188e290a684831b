"""The ``Provider`` port over a child process that talks to models.

Starts the child once, restarts it when it dies, ends it with the server, and turns its reports
into model events.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final

from pydantic import Field, field_validator

import agent_ls
from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.domain.model_io import ModelEvent, ModelRequest, StreamFinished
from agent_ls.loop.ports.models import ListedModel, ModelFacts, ModelList
from agent_ls.providers.addresses import read_address
from agent_ls.providers.answer import CHARACTERS_PER_TOKEN
from agent_ls.providers.credentials import StoredCredentials
from agent_ls.providers.failures import explain
from agent_ls.providers.frames import (
    CODE,
    FACTS,
    FAILED,
    GONE,
    MODELS,
    SIGNED_IN,
    Access,
    Limits,
    Order,
    Report,
    Trouble,
    read_event,
)
from agent_ls.providers.host_process import HostProcess, host_died
from agent_ls.providers.prices import SCRIPTED, ModelCard, provider_in
from agent_ls.providers.shapes import as_list, as_text
from agent_ls.providers.sign_ins import SIGN_INS, SignIn

ALLOWED_ENVIRONMENT: Final = frozenset(
    {
        "ALL_PROXY", "APPDATA", "CURL_CA_BUNDLE", "HOME", "HTTPS_PROXY", "HTTP_PROXY", "LANG",
        "LC_ALL", "LC_CTYPE", "LITELLM_LOG", "LOCALAPPDATA", "LOGNAME", "NO_PROXY", 
        "PROGRAMDATA", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "SYSTEMROOT",
        "TEMP", "TMP", "TMPDIR", "TZ", "USER", "USERPROFILE", "WINDIR", "XDG_CACHE_HOME",
        "all_proxy", "https_proxy", "http_proxy", "no_proxy",
    }
)  # fmt: skip
"""Variables that the child inherits: enough to run and connect, and no keys."""

_SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"
_LOOPBACK = "localhost,127.0.0.1,::1"
_NO_MODEL = (
    "No model is set. Set `model` in the settings, or AGENT_LS_MODEL, to a name such as "
    "anthropic/claude-sonnet-5-5, ollama_chat/qwen3 or, for any OpenAI-compatible server, "
    "openai/NAME together with AGENT_LS_API_BASE."
)
_LEAST_WINDOW = 2_048
"""A smaller window holds no request of ours, so the number in the error means something else."""
_MODULE = "agent_ls.providers.worker"
_SIGN_IN_FAILED = "SignInFailed"
"""The cause of a trouble whose detail is the whole message."""


class ModelHostOptions(Limits):
    """How models are reached."""

    api_base: str = ""
    """Address of the endpoint; empty: the provider's own, or what its variables say."""

    @field_validator("api_base")
    @classmethod
    def _is_address(cls, value: str) -> str:
        return read_address(value)

    models: Mapping[str, ModelCard] = Field(default_factory=dict[str, ModelCard])
    """Size and prices of models, by name, for those litellm does not know or knows wrongly."""
    python: str = ""
    """Interpreter of the child process, by its path or a name in the system's folders; empty: the
    server's own."""


@dataclass(frozen=True, slots=True)
class SignInCode:
    """What the user needs to agree to a sign-in."""

    page: str
    user_code: str
    valid_s: float


class ModelHost:
    """Sends model requests through the child process.

    ``start`` or the first request starts the child; ``close`` ends it.
    """

    name: ClassVar[str] = "model_host"

    def __init__(
        self,
        options: ModelHostOptions | None = None,
        *,
        credentials: StoredCredentials | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """``env`` is the environment from which the child's is chosen; by default our own."""
        self.options = options or ModelHostOptions()
        self._env = os.environ if env is None else env
        self._credentials = credentials or StoredCredentials(env=self._env)
        self._child: HostProcess | None = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._told: dict[str, ModelCard] = {}
        self._windows: dict[str, int] = {}
        """Windows that refusals told, by model."""
        self._asked_again: set[str] = set()
        self._getting_ready: asyncio.Future[ModelFacts] | None = None
        self._is_closed = False

    @property
    def pid(self) -> int | None:
        """Return the child's process id; None when none runs."""
        return self._child.pid if self._child and self._child.is_alive else None

    async def start(self, model: str = "") -> None:
        """Start the child; if a model is given, look up its facts in the background."""
        await self._running()
        if model:
            self._getting_ready = asyncio.ensure_future(self.facts(model))

    async def close(self) -> None:
        """End the child and all its requests, within 300 ms."""
        self._is_closed = True
        if self._getting_ready is not None:
            self._getting_ready.cancel()
        if self._child is not None:
            await self._child.stop()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send the request and yield its model events; see ``Provider``."""
        if not request.model:
            raise ProviderError(ProviderFailure.NO_MODEL, _NO_MODEL)
        child = await self._running()
        access = await self._credentials.access(request.model, self.options.api_base)
        order = Order(
            op="request",
            number=next(self._numbers),
            access=access,
            limits=Limits(**self.options.model_dump(include={*Limits.model_fields})),
            request=request,
            window_tokens=self._known_window(request.model),
        )
        async with contextlib.aclosing(child.ask(order)) as reports:
            async for report in reports:
                event = read_event(report)
                if event is None:
                    error = self._failure(report, request.model)
                    self._learn(request.model, error)
                    raise error
                if isinstance(event, StreamFinished):
                    await self._refuse_cut_prompt(request, event.usage.input_tokens)
                    yield self._priced(event)
                    return
                yield event

    async def _refuse_cut_prompt(self, request: ModelRequest, input_tokens: int) -> None:
        """Ask once more for an unknown window, as Ollama tells it only of a loaded model.

        Errors: ``ProviderError`` if the prompt was longer than that and no more of it was read.
        """
        model = request.model
        if model not in self._told or self._known_window(model) or model in self._asked_again:
            return
        self._asked_again.add(model)
        del self._told[model]
        window = (await self.facts(model)).window_tokens
        size = request.text_size // CHARACTERS_PER_TOKEN
        if 0 < input_tokens <= window < size:
            error = ProviderError(
                ProviderFailure.CONTEXT_OVERFLOW,
                f"The conversation is too long for {model}: its server loaded it with a window of "
                f"{window} tokens, read {input_tokens} of about {size} and cut the rest.",
                window_tokens=window,
            )
            self._learn(model, error)
            raise error

    def _known_window(self, model: str) -> int:
        card = self._card(model) or self._told.get(model) or ModelCard()
        return self._windows.get(model, card.window_tokens)

    def _learn(self, model: str, error: ProviderError) -> None:
        window = error.window_tokens or 0
        if error.failure is ProviderFailure.CONTEXT_OVERFLOW and window >= _LEAST_WINDOW:
            self._windows[model] = window

    async def facts(self, model: str) -> ModelFacts:
        """Return the size and prices of ``model``; zeros if unknown or the lookup fails."""
        card = self._card(model) or self._told.get(model)
        if card is None:
            # The model request itself will report the same failure.
            with contextlib.suppress(ProviderError):
                card = self._told[model] = await self._ask_facts(model)
        card = card or ModelCard()
        return ModelFacts(
            self._windows.get(model, card.window_tokens),
            card.max_output_tokens,
            card.input_usd,
            card.output_usd,
            takes_images=card.images,
        )

    async def _ask_facts(self, model: str) -> ModelCard:
        child = await self._running()
        access = await self._credentials.access(model, self.options.api_base)
        # Send the address without the key: looking up facts needs no key.
        place = Access(api_base=access.api_base)
        order = Order(op="facts", number=next(self._numbers), model=model, access=place)
        async with contextlib.aclosing(child.ask(order)) as reports:
            report = await anext(reports)
        if report[1] != FACTS:
            raise self._failure(report, model)
        return ModelCard.model_validate(report[2])

    async def models(self, model: str = "") -> ModelList:
        """Return the models that can be used with the keys that are there."""
        listed, problems = await self._credentials.usable(model, self.options.api_base)
        found: dict[str, ListedModel] = {}
        if listed:
            child = await self._running()
            order = Order(op="models", number=next(self._numbers), listed=listed)
            async with contextlib.aclosing(child.ask(order)) as reports:
                match await anext(reports):
                    case [_, word, models, told] if word == MODELS:
                        rows = map(ListedModel.model_validate, as_list(models))
                        found = {one.name: one for one in rows}
                        problems += map(as_text, as_list(told))
                    case report:
                        raise self._failure(report, model)
        for name, card in self.options.models.items():
            if name in found or provider_in(name) in listed:
                found[name] = _by_card(found.get(name, ListedModel(name=name)), card)
        return ModelList(tuple(found.values()), tuple(problems))

    async def sign_in(self, about: SignIn) -> AsyncGenerator[SignInCode, None]:
        """Sign in; yield the code for the user, then wait until they have agreed.

        Errors: ``ProviderError``, with a message for the user.
        """
        child = await self._running()
        number = next(self._numbers)
        order = Order(op="sign_in", number=number, sign_in=about.name, model=about.title)
        async with contextlib.aclosing(child.ask(order)) as reports:
            async for report in reports:
                match report:
                    case [_, word, str(page), str(user_code), float(valid_s)] if word == CODE:
                        yield SignInCode(page, user_code, valid_s)
                    case [_, word] if word == SIGNED_IN:
                        return
                    case [_, word, told] if word == FAILED:
                        trouble = Trouble.model_validate(told)
                        if trouble.cause == _SIGN_IN_FAILED:
                            failure = ProviderFailure(trouble.failure)
                            raise ProviderError(failure, trouble.detail)
                        hint = f"run `{about.command}`."
                        raise explain(trouble, model=about.title, key_hint=hint)
                    case _:
                        raise self._failure(report, about.title)

    def _card(self, model: str) -> ModelCard | None:
        return self.options.models.get(model) or SCRIPTED.get(model)

    async def _running(self) -> HostProcess:
        async with self._starting:
            if self._is_closed:
                raise host_died("The model host is closed.")
            if self._child is None or not self._child.is_alive:
                self._child = await HostProcess.spawn(self._command(), self._child_environment())
            if self._is_closed:
                await self._child.stop()
                raise host_died("The model host is closed.")
            return self._child

    def _command(self) -> list[str]:
        # -P: nothing is imported from the working directory.
        # A bare name is looked for on the child's PATH, which holds no folder of a project.
        return [self.options.python or sys.executable, "-P", "-m", _MODULE]

    def _child_environment(self) -> dict[str, str]:
        found = {name: self._env[name] for name in ALLOWED_ENVIRONMENT if name in self._env}
        for sign_in in SIGN_INS.values():
            found |= sign_in.environment(self._env)
        # The child's libraries run programs such as uname by name, and the user's PATH may begin
        # with a project folder.
        found["PATH"] = os.defpath if sys.platform == "win32" else _SYSTEM_PATH
        found["PYTHONPATH"] = str(Path(agent_ls.__file__).parent.parent)
        for name in ("NO_PROXY", "no_proxy"):
            found[name] = ",".join(part for part in (found.get(name, ""), _LOOPBACK) if part)
        return found

    def _priced(self, event: StreamFinished) -> StreamFinished:
        card = self._card(event.model)
        if card is None:
            return event
        cost = {"cost_usd": card.cost_usd(event.usage)}
        return replace(event, usage=event.usage.model_copy(update=cost))

    def _failure(self, report: Report, model: str) -> ProviderError:
        match report:
            case [_, word, trouble] if word == FAILED:
                hint = self._credentials.hint(model, self.options.api_base)
                return explain(Trouble.model_validate(trouble), model=model, key_hint=hint)
            case [_, word, str(words)] if word == GONE:
                return host_died(words)
            case _:
                return host_died(f"The model host sent an unknown report: {report!r}.")


def _by_card(model: ListedModel, card: ModelCard) -> ListedModel:
    """Return a model with what the user's settings say of it."""
    told = {name: value for name, value in card.model_dump().items() if value}
    update = {name: told[name] for name in ListedModel.model_fields if name in told}
    if card.images is not None:
        update["takes_images"] = card.images
    return model.model_copy(update=update)
