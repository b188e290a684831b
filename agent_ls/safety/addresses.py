"""Where the address of a server leads. Pure."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Say whether a URL points to this machine."""
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
