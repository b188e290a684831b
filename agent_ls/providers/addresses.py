"""Reads the addresses of model servers as people write them. Pure, and imports no HTTP library."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from agent_ls.safety.addresses import is_loopback

_HERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
"""What a server listens on, and where this machine reaches it."""


def read_address(text: str, home: str = "") -> str:
    """Return an address with its scheme and without space around it; empty if the text is.

    ``home`` is the usual address of a local server, whose port completes one without a scheme.
    Errors: ``ValueError`` with words that follow the place of the address.
    """
    address = text.strip()
    if re.search(r"\s", address):
        raise ValueError("it has a space inside: take it out")
    if address and "://" not in address:
        address = _with_scheme(address, home)
    for listening, reached in _HERE.items():
        address = re.sub(rf"(?<=://){re.escape(listening)}(?=[:/]|$)", reached, address)
    if address and not _host(address):
        raise ValueError("it must begin with http:// or https://, followed by a host")
    return address


def is_openais_own(base: str | None) -> bool:
    """Say whether an address is OpenAI's own, which is also the default."""
    host = (urlsplit(base).hostname or "") if base else "openai.com"
    return host == "openai.com" or host.endswith(".openai.com")


def below(address: str, *parts: str) -> str:
    """Return the URL of these parts below an address; empty parts are left out."""
    return "/".join((address.rstrip("/"), *filter(None, parts)))


def has_path(address: str) -> bool:
    """Say whether an address names more than a host."""
    return bool(urlsplit(address).path.strip("/"))


def _with_scheme(address: str, home: str) -> str:
    """Return an address of a local server with its scheme and port. Errors: ``ValueError``."""
    if address.startswith(":"):
        address = f"127.0.0.1{address}"
    try:
        port = urlsplit(f"//{address}").port
    except ValueError:
        raise ValueError("its port is no number; an IPv6 address stands in brackets") from None
    if home and port is None:
        host, slash, path = address.partition("/")
        address = f"{host.removesuffix(':')}:{urlsplit(home).port}{slash}{path}"
    if not home and not is_loopback(address) and not address.startswith(tuple(_HERE)):
        raise ValueError("it must begin with http:// or https://")
    return f"http://{address}"


def _host(address: str) -> str:
    """Return the host of an address; empty if no request can be sent there."""
    try:
        place: SplitResult = urlsplit(address)
        # A port that is none raises here.
        is_usable = place.scheme in ("http", "https") and place.port != 0
        return place.hostname or "" if is_usable else ""
    except ValueError:
        return ""
