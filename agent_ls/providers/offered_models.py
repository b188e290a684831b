"""Lists the models that providers offer: by litellm's table, and by servers that have own lists.

Runs in the model host. Never raises: a server without a list is told as a problem.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_ls.loop.ports.models import ListedModel, ModelList
from agent_ls.providers.addresses import below, has_path, is_openais_own
from agent_ls.providers.dialects import MISPLACED, Dialect, dialect_of
from agent_ls.providers.frames import Access
from agent_ls.providers.http_client import get_json
from agent_ls.providers.missing_models import chat_name, entries_at
from agent_ls.providers.model_lists import with_abilities
from agent_ls.providers.prices import PriceTable, provider_in
from agent_ls.providers.shapes import Object, as_object
from agent_ls.safety.keys import without_keys
from agent_ls.safety.secrets import mask

if TYPE_CHECKING:
    import httpx

_MOST_DETAILS: Final = 50
"""So many models of a server are asked about one by one."""


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that is asked for its models."""

    client: httpx.AsyncClient
    provider: str
    address: str
    access: Access
    dialect: Dialect


async def offered(
    listed: Mapping[str, Access], client_for: Callable[[str], httpx.AsyncClient]
) -> ModelList:
    """Return the models of these providers. Errors: as of ``client_for``."""
    table = await asyncio.to_thread(PriceTable().listed)
    servers = [
        _Server(client_for(address), provider, address, access, dialect)
        for provider, access in listed.items()
        if (address := access.api_base or "")
        and (dialect := dialect_of(provider, address, "")).models
        and not (provider == "openai" and is_openais_own(address))
    ]
    asked = await asyncio.gather(*(_models_at(server, table) for server in servers))
    by_table = {*listed} - {server.provider for server in servers}
    found = [model for name, model in table.items() if provider_in(name) in by_table]
    found += [model for models in asked for model in models]
    problems = [
        f"{mask(server.address)} lists no models. Check that it runs and that its address is right."
        for server, models in zip(servers, asked, strict=True)
        if not models
    ]
    return ModelList(tuple(sorted(found, key=_place)), tuple(problems))


def _place(model: ListedModel) -> tuple[str, str]:
    provider, _, name = model.name.partition("/")
    return provider, name


async def _models_at(server: _Server, table: Mapping[str, ListedModel]) -> list[ListedModel]:
    dialect = server.dialect
    is_whole = dialect.is_ollama or has_path(server.address)
    entries: list[Object] = []
    for version in ("",) if is_whole else ("", MISPLACED.version):
        url = below(server.address, version, dialect.models)
        entries = entries or await entries_at(server.client, url, server.access.api_key)
    told = {name: entry for entry in entries if (name := chat_name(entry))}
    if dialect.model_details:
        names = list(told)[:_MOST_DETAILS]
        details = await asyncio.gather(*(_details(server, name) for name in names))
        told |= {name: {**told[name], **one} for name, one in zip(names, details, strict=True)}
    models: list[ListedModel] = []
    for name, fields in told.items():
        full = f"{server.provider}/{without_keys(name, server.access.secrets)}"
        # A gateway's models are the provider's; a local server's only share a name with them.
        known = table.get(full, ListedModel(name=full))
        found = with_abilities(known, fields)
        if most := dialect.most_window_tokens:
            window = min(found.window_tokens or most, most)
            found = found.model_copy(update={"window_tokens": window})
        models.append(found)
    return models


async def _details(server: _Server, name: str) -> Object:
    url = below(server.address, server.dialect.model_details)
    return as_object(await get_json(server.client, url, body={"model": name}))
