"""Whether an address can be reached at all, asked before the model library has loaded.

That takes seconds, and an unknown name or a port where nothing listens is known at once.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, urlsplit

from agent_ls.domain.errors import ProviderFailure
from agent_ls.providers.credentials import is_loopback
from agent_ls.providers.frames import Trouble

_LOOK_S: Final = 3.0
_PORTS: Final = {"http": 80, "https": 443}


async def unreachable(url: str, env: Mapping[str, str]) -> Trouble | None:
    """Return why nothing can be there; None when something may be, or it is not ours to say."""
    try:
        place = urlsplit(url)
        host, port = place.hostname, place.port or _PORTS.get(place.scheme)
    except ValueError:
        return None
    if host is None or port is None or _goes_by_proxy(place, env):
        return None
    cause = ""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_LOOK_S):
            cause = await _obstacle(host, port, is_here=is_loopback(url))
    if not cause:
        return None
    return Trouble(failure=ProviderFailure.CONNECTION, detail="", endpoint=url, cause=cause)


async def _obstacle(host: str, port: int, *, is_here: bool) -> str:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return type(error).__name__
    if not is_here:
        return ""
    for *_, address in found:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(str(address[0]), port)
            writer.close()
            return ""
    return ConnectionRefusedError.__name__


def _goes_by_proxy(place: SplitResult, env: Mapping[str, str]) -> bool:
    """Say whether somebody else may look the name up; addresses of this machine go by none."""
    names = (f"{place.scheme}_proxy", "all_proxy")
    has_proxy = any(env.get(name) or env.get(name.upper()) for name in names)
    return has_proxy and not is_loopback(place.geturl())
