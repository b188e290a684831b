"""Asks a server how large the windows of its models are.

For servers whose models no table lists. Sends no key, and never raises: an answer of another shape
tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from agent_ls.providers.dialects import WINDOWS
from agent_ls.providers.http_client import get_json
from agent_ls.providers.model_lists import counted_in, listed_models, names_of

if TYPE_CHECKING:
    import httpx


async def window_at(client: httpx.AsyncClient, address: str, model: str) -> int:
    """Return the window of a model at an address, in tokens; 0 if the server tells none."""
    name = model.rpartition("/")[2]
    asked = set[str]()
    for place in WINDOWS:
        url = urljoin(f"{address.rstrip('/')}/", place.path)
        if url in asked:
            continue
        asked.add(url)
        for one in _about(await get_json(client, url), name):
            if tokens := counted_in(one, place.names):
                return tokens
    return 0


def _about(found: object, name: str) -> Iterator[object]:
    """Yield what an answer says of a model: its entry in a list, or all if there is no list."""
    entries = listed_models(found)
    if not entries:
        yield found
    named = [one for one in entries if _is_named(one, name)]
    # A server with a single model takes any name for it.
    yield from named or (entries if len(entries) == 1 else [])


def _is_named(entry: dict[str, object], name: str) -> bool:
    return any(
        name in (one, one.rpartition("/")[2], one.partition(":")[0]) for one in names_of(entry)
    )
