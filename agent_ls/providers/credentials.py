"""Finds API keys in the environment, then ``credentials.toml``, then the keyring.

For providers that users sign in at, it only looks whether they have. Reads no workspace file and
writes nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import re
import shlex
import sys
import threading
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import platformdirs

from agent_ls.domain.errors import ProviderError, ProviderFailure
from agent_ls.providers.addresses import is_openais_own, read_address
from agent_ls.providers.dialects import ADDRESSES, dialect_of
from agent_ls.providers.frames import Access
from agent_ls.providers.key_variables import (
    KEYLESS,
    PROVIDERS,
    KeyPlace,
    Variables,
    key_place,
    provider_of,
    variables_of,
)
from agent_ls.providers.prices import PriceTable, provider_in
from agent_ls.providers.shapes import Object, as_object
from agent_ls.providers.sign_ins import sign_in_of
from agent_ls.safety.addresses import is_loopback
from agent_ls.safety.keys import header_problem, key_problem
from agent_ls.safety.user_files import shared_problem

FILE_NAME: Final = "credentials.toml"
KEYRING_SERVICE: Final = "agent-ls"
_DUMMY_KEY: Final = "none"
_KEYRING_S: Final = 10.0
_EXTRAS: Final = {name for one in PROVIDERS.values() for name in one.extra.values()}
_FILE_KEYS: Final = frozenset({"api_key", "api_base", *_EXTRAS})


class MissingKeyError(ProviderError):
    """A model's provider has no key and no sign-in."""


@dataclass(frozen=True, slots=True)
class KeyNeed:
    """What a model needs before it can be asked."""

    place: KeyPlace
    is_missing: bool = False
    """There is no key, or nobody has signed in."""
    problem: str = ""
    """Why the model cannot be asked, for the user; empty: it can."""


@dataclass(frozen=True, slots=True)
class StoredCredentials:
    """Keys from the environment, the user's ``credentials.toml`` and the keyring, in that order.

    ``AGENT_LS_API_KEY`` applies to every model and wins.
    """

    config_dir: Path = field(default_factory=lambda: Path(platformdirs.user_config_dir("agent-ls")))
    """The user's configuration folder; never a workspace."""
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    async def access(self, model: str, api_base: str = "", *, is_listed: bool = False) -> Access:
        """Return the key and address for a model; ``api_base`` overrides the address.

        ``is_listed``: it is not the user's choice, so it does not get the key for every model.

        Errors: ``ProviderError`` if a needed key is missing or malformed, or the credentials file
        is unusable.
        """
        provider = provider_of(model, api_base)
        variables = variables_of(provider)
        stored = await asyncio.to_thread(self._stored, provider)
        if sign_in_of(provider):
            if not await asyncio.to_thread(self._is_signed_in, provider):
                text = f"You are not signed in for {model}: {self.hint(model, api_base)}"
                raise MissingKeyError(ProviderFailure.NOT_SIGNED_IN, text)
            # An account's token goes to no server that was set for other models.
            return Access(api_base=self._address(provider, "", stored) or None)
        base = self._address(provider, api_base, stored)
        is_own_server = provider == "openai" and base and not is_openais_own(base)
        # Another server gets OpenAI's key only if the model's name says so.
        names = () if is_own_server and not provider_of(model) else variables.key
        general = () if is_listed else ("AGENT_LS_API_KEY",)
        key = self._key((*general, *names)) or self._key_of_file(provider, stored)
        if not key and base and is_loopback(base):
            # The clients require a key, even for local servers that need none.
            key = _DUMMY_KEY
        if not key and names:
            place = f"The keyring's entry {KEYRING_SERVICE} {provider}"
            found = await _keyring_keys([provider])
            key = _checked(place, found.get(provider, ""))
        if not key and variables.is_key_needed and provider and not is_own_server:
            text = f"There is no key for {model}: {self.hint(model, api_base)}"
            failure = ProviderFailure.NO_KEY
            if near := await asyncio.to_thread(_meant, provider, model):
                text = f"{text} Or did you mean {' or '.join(near)}?"
                failure = ProviderFailure.UNKNOWN_MODEL
            raise MissingKeyError(failure, text)
        home = dialect_of(provider, "", "").home
        return Access(
            api_key=key, api_base=base or home or None, extra=self._extra(variables, stored)
        )

    async def need(self, model: str, api_base: str = "") -> KeyNeed:
        """Return where a model's key comes from, and whether it is there."""
        place = key_place(provider_of(model, api_base))
        try:
            await self.access(model, api_base)
        except ProviderError as error:
            return KeyNeed(place, isinstance(error, MissingKeyError), error.message)
        return KeyNeed(place)

    def hint(self, model: str, api_base: str = "") -> str:
        """Return how to give this model a key, as a clause that follows "To mend it,"."""
        provider = provider_of(model, api_base)
        if sign_in := sign_in_of(provider):
            return f"run `{sign_in.command}`."
        names = " or ".join((*variables_of(provider).key, "AGENT_LS_API_KEY"))
        section = provider or "PROVIDER"
        command = shlex.join([sys.executable, "-m", "keyring", "set", KEYRING_SERVICE, section])
        keyring = f", or store it in the keyring: {command}" if _has_keyring() else ""
        return (
            f"set {names} in the environment that agent-ls starts in, or write api_key under "
            f"[{section}] in {self.config_dir / FILE_NAME} (readable by you alone){keyring}."
        )

    async def usable(
        self, model: str = "", api_base: str = ""
    ) -> tuple[dict[str, Access], list[str]]:
        """Return how the providers that have a key or an address are reached, and the problems.

        ``model`` is the one that is set: its provider counts as set up, whatever it lacks.
        """
        chosen = provider_of(model, api_base)
        # The other interface of Ollama has no tools.
        chosen = "ollama_chat" if chosen == "ollama" else chosen
        names: Iterable[str] = ()
        if api_base:
            # All models are asked there.
            chosen, model = chosen or "openai", model or "openai/any"
        else:
            names = await asyncio.to_thread(_known_providers)
        keys = await _keyring_keys([one for one in names if variables_of(one).key])
        found: dict[str, Access] = {}
        problems: dict[str, None] = {}
        for name in sorted({*names, chosen} - {"", "ollama"}):
            try:
                if name == chosen or name in keys or self._is_set_up(name):
                    any_model = model if name == chosen else f"{name}/any"
                    access = await self.access(any_model, api_base, is_listed=name != chosen)
                    home = ADDRESSES.get(name) if name in KEYLESS else None
                    place = {"api_base": access.api_base or home}
                    found[name] = access.model_copy(update=place)
            except ProviderError as error:
                problems[error.message] = None
        return found, list(problems)

    def _is_set_up(self, provider: str) -> bool:
        """Say whether a provider has a key or an address of its own. Errors: ``ProviderError``."""
        if sign_in_of(provider):
            return self._is_signed_in(provider)
        variables, stored = variables_of(provider), self._stored(provider)
        if self._key(variables.key) or self._key_of_file(provider, stored):
            return True
        base = self._address(provider, "", stored)
        is_own = is_loopback(base) or (provider == "openai" and not is_openais_own(base or None))
        is_enough = not variables.is_key_needed and (base or self._extra(variables, stored))
        return bool(base and is_own) or bool(is_enough)

    def _is_signed_in(self, provider: str) -> bool:
        sign_in = sign_in_of(provider)
        try:
            return sign_in is not None and sign_in.is_there(self.env)
        except PermissionError as error:
            raise _unusable(str(error)) from None

    def _key(self, names: tuple[str, ...]) -> str | None:
        """Return the first key in these variables; errors: ``ProviderError`` if malformed."""
        found = next((name for name in names if self.env.get(name, "").strip()), None)
        return _checked(found, self.env[found]) if found else None

    def _key_of_file(self, provider: str, stored: Mapping[str, str]) -> str | None:
        place = f"api_key under [{provider}] in {self.config_dir / FILE_NAME}"
        return _checked(place, stored.get("api_key", ""))

    def _address(self, provider: str, api_base: str, stored: Mapping[str, str]) -> str:
        """Return the address that was set, without the endpoint that it may name; empty: none.

        Errors: ``ProviderError`` if it is none.
        """
        names = variables_of(provider).base
        places = {
            "provider.api_base": api_base,
            **{name: self.env.get(name, "") for name in names},
            f"api_base under [{provider}] in {self.config_dir / FILE_NAME}": stored.get(
                "api_base", ""
            ),
        }
        place = next((place for place, text in places.items() if text.strip()), None)
        if place is None:
            return ""
        dialect = dialect_of(provider, "", "")
        try:
            return re.sub(dialect.endings, "", read_address(places[place], dialect.home))
        except ValueError as error:
            raise ProviderError(ProviderFailure.BAD_REQUEST, f"{place}: {error}.") from None

    def _extra(self, variables: Variables, stored: Mapping[str, str]) -> dict[str, str]:
        extra = {k: v.strip() for k, v in stored.items() if k not in ("api_key", "api_base")}
        places = {name: f"{name} in {self.config_dir / FILE_NAME}" for name in extra}
        for name, argument in reversed(list(variables.extra.items())):
            if value := self.env.get(name, "").strip():
                extra[argument], places[argument] = value, name
        for argument, value in extra.items():
            # Vertex takes a whole file of JSON here.
            if argument != "vertex_credentials" and (problem := header_problem(value)):
                raise _unusable(f"{places[argument]} {problem}.")
        return extra

    def _stored(self, provider: str) -> Mapping[str, str]:
        """Return the provider's section of the credentials file; empty if missing."""
        path = self.config_dir / FILE_NAME
        try:
            with path.open("rb") as file:
                if problem := shared_problem(path, os.fstat(file.fileno())):
                    raise _unusable(problem)
                table: Object = tomllib.load(file)
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError as error:
            # The error's own words would show a byte of a key.
            raise _unusable(f"cannot read {path}: it is not UTF-8 text") from error
        except (OSError, ValueError) as error:
            raise _unusable(f"cannot read {path}: {error}") from error
        section = as_object(table.get(provider))
        wrong = sorted(key for key in section if key not in _FILE_KEYS)
        if wrong:
            known = ", ".join(sorted(_FILE_KEYS))
            raise _unusable(f"{path}: [{provider}] has unknown keys {wrong}; it may have: {known}.")
        return {key: value for key, value in section.items() if isinstance(value, str)}


def _checked(place: str, key: str) -> str | None:
    """Return the key without the space around it; errors: ``ProviderError`` if malformed."""
    if problem := key_problem(key):
        raise _unusable(f"{place} {problem}.")
    return key.strip() or None


def _known_providers() -> frozenset[str]:
    listed = {provider_in(name) for name in PriceTable().listed()}
    return frozenset({*listed, *PROVIDERS, *ADDRESSES, *KEYLESS})


def _meant(provider: str, model: str) -> tuple[str, ...]:
    """Return models like this one, if it names a provider that nobody knows."""
    return () if provider in _known_providers() else PriceTable().near(model)


def _unusable(text: str) -> ProviderError:
    return ProviderError(ProviderFailure.NO_KEY, text)


def _has_keyring() -> bool:
    return importlib.util.find_spec("keyring") is not None


async def _keyring_keys(providers: Iterable[str]) -> dict[str, str]:
    """Return the keyring's keys by provider; empty if it does not answer in time."""
    if not _has_keyring():
        return {}

    is_over = threading.Event()

    def ask() -> dict[str, str]:
        keyring = importlib.import_module("keyring")
        keys: dict[str, str] = {}
        for one in providers:
            try:
                found: object = keyring.get_password(KEYRING_SERVICE, one)
            except Exception:
                # Backends raise their own exceptions (no session bus, locked). Another look would
                # fail, too, and may ask the user once more to unlock it.
                break
            if is_over.is_set():
                break
            if isinstance(found, str) and found:
                keys[one] = found
        return keys

    try:
        async with asyncio.timeout(_KEYRING_S):
            return await asyncio.to_thread(ask)
    except TimeoutError:
        return {}
    finally:
        is_over.set()
