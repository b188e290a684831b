"""Which hosts a confined command may reach: names, ports, and the addresses behind the names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

Address = IPv4Address | IPv6Address

_PORTS = (80, 443)
"""Granted with a name that has no port."""
_NAME = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*"
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_NAT64 = ip_network("64:ff9b::/96")
_GRANT = re.compile(r"(?P<all>\*\.)?(?P<host>\[[^\]]+\]|[^:\[\]*]+)(:(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class HostGrant:
    """A host that commands may reach, such as ``pypi.org``, ``*.example.org`` or ``db:5432``."""

    host: str
    port: int | None = None
    """None: the ports of http and https."""
    is_wildcard: bool = False
    """Covers the names below ``host``, and not ``host`` itself."""

    def covers(self, host: str, port: int) -> bool:
        """Tell whether it grants this host, as ``read_host`` returns it, and port."""
        is_named = host.endswith(f".{self.host}") if self.is_wildcard else host == self.host
        return is_named and (port == self.port if self.port else port in _PORTS)

    def reaches(self, address: Address) -> bool:
        """Tell whether a connection to this address of the host is granted.

        Whoever owns a name decides about its address. So an address of a private network needs a
        grant of the exact name and port, and one of this machine a grant that says so.
        """
        address = _embedded(address)
        if address.is_global and not address.is_multicast:
            return True
        if self.port is None or self.is_wildcard or address.is_multicast:
            return False
        is_here = address.is_loopback or address.is_link_local or address.is_unspecified
        return not is_here or self.host == "localhost" or _is_address(self.host)


def read_grant(text: str) -> HostGrant:
    """Return the grant that a user wrote. Errors: ``ValueError`` says what is wrong."""
    found = _GRANT.fullmatch(text.strip())
    port = int(found["port"]) if found and found["port"] else None
    if found is None or (port is not None and not 0 < port < 2**16):
        raise ValueError(
            f"{text!r} is no host: write example.org, *.example.org or example.org:8080"
        )
    host = read_host(found["host"])
    if found["all"] and _is_address(host):
        raise ValueError(f"{text!r}: an address has no names below it")
    return HostGrant(host, port, bool(found["all"]))


def read_host(text: str) -> str:
    """Return a host in the one spelling that is compared; an IPv6 address without brackets.

    Errors: ``ValueError`` if it is no host, or an address in an unusual notation.
    """
    name = text.lower().removesuffix(".")
    literal = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    try:
        return str(ip_address(literal))
    except ValueError:
        pass
    # Programs read names such as 127.1 or 0x7f000001 as addresses.
    if not _NAME.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise ValueError("not a host name")
    return name


def covering(grants: Iterable[HostGrant], host: str, port: int) -> tuple[HostGrant, ...]:
    """Return the grants that cover a host and port."""
    return tuple(grant for grant in grants if grant.covers(host, port))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
