"""Asks a server how large the windows of its models are.

For servers whose models no table lists. Sends no key, and never raises: an answer of another shape
tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from agent_ls.providers.dialects import WINDOWS
from agent_ls.providers.http_client import get_json
from agent_ls.providers.model_lists import listed_models, names_of
from agent_ls.providers.shapes import as_count, as_object

if TYPE_CHECKING:
    import httpx

_DEEPEST: Final = 4


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
            if tokens := _count(one, place.names):
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


def _count(value: object, names: tuple[str, ...], depth: int = 0) -> int:
    """Return the first count of these names in an object or in those within it."""
    fields = as_object(value)
    for name in names:
        if tokens := as_count(fields.get(name)):
            return tokens
    inner = fields.values() if depth < _DEEPEST else ()
    return next((tokens for one in inner if (tokens := _count(one, names, depth + 1))), 0)
