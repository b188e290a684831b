"""Asks a server which models it has, after it refused one that it does not have.

Never raises: an answer of another shape names none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_ls.providers.addresses import below
from agent_ls.providers.dialects import OLLAMA_OWNER, UNFIT_MODELS, Dialect
from agent_ls.providers.frames import Access, Trouble
from agent_ls.providers.http_client import get_json
from agent_ls.providers.model_lists import listed_models, names_of
from agent_ls.providers.shapes import Object
from agent_ls.safety.keys import without_keys

if TYPE_CHECKING:
    import httpx

_MAX_MODELS: Final = 1_000
_MAX_CHARACTERS: Final = 120
"""A longer name is none that a user could set."""


async def with_models(
    client: httpx.AsyncClient, endpoint: str, dialect: Dialect, access: Access, trouble: Trouble
) -> Trouble:
    """Return the trouble with the names of the models that the endpoint's server has.

    The key goes along, as the request that failed had it, too.
    """
    url = below(endpoint, dialect.version, dialect.models)
    entries = await entries_at(client, url, access.api_key)
    named = (name for one in entries if (name := chat_name(one)))
    names = dict.fromkeys(without_keys(name, access.secrets) for name in named)
    is_ollama = dialect.is_ollama or any(one.get("owned_by") == OLLAMA_OWNER for one in entries)
    return trouble.model_copy(update={"models": tuple(names), "is_ollama": is_ollama})


async def entries_at(client: httpx.AsyncClient, url: str, key: str | None) -> list[Object]:
    """Return the models that a server lists; empty if it lists none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return listed_models(await get_json(client, url, headers))[:_MAX_MODELS]


def chat_name(entry: Object) -> str:
    """Return the name of a model that can chat; empty if the entry has none."""
    name = next(iter(names_of(entry)), "")
    is_fit = name.isprintable() and len(name) <= _MAX_CHARACTERS
    return name if is_fit and not re.search(UNFIT_MODELS, name.lower()) else ""
