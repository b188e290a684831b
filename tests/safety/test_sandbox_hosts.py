"""Which grants cover which hosts, ports and addresses."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from agent_ls.safety.sandbox.hosts import covering, read_grant, read_host


@pytest.mark.parametrize(
    "grant, host, port, is_covered",
    [
        pytest.param("pypi.org", "pypi.org", 443, True, id="the-name"),
        pytest.param("pypi.org", "pypi.org", 80, True, id="plain-http"),
        pytest.param("pypi.org", "PyPI.org.", 443, True, id="case-and-final-dot-mean-nothing"),
        pytest.param("PyPI.org", "pypi.org", 443, True, id="case-in-the-grant"),
        pytest.param("pypi.org", "pypi.org", 22, False, id="another-port"),
        pytest.param("pypi.org:8443", "pypi.org", 8443, True, id="granted-port"),
        pytest.param("pypi.org:8443", "pypi.org", 443, False, id="only-the-granted-port"),
        pytest.param("pypi.org", "files.pypi.org", 443, False, id="a-name-below"),
        pytest.param("pypi.org", "pypi.org.evil.test", 443, False, id="the-name-as-beginning"),
        pytest.param("pypi.org", "notpypi.org", 443, False, id="the-name-as-end"),
        pytest.param("*.pypi.org", "files.pypi.org", 443, True, id="wildcard"),
        pytest.param("*.pypi.org", "a.b.pypi.org", 443, True, id="wildcard-two-below"),
        pytest.param("*.pypi.org", "pypi.org", 443, False, id="wildcard-is-not-the-name-itself"),
        pytest.param("*.pypi.org", "notpypi.org", 443, False, id="wildcard-needs-the-dot"),
        pytest.param("*.pypi.org:8443", "a.pypi.org", 8443, True, id="wildcard-with-port"),
        pytest.param("10.0.0.5", "10.0.0.5", 80, True, id="address-granted-as-such"),
        pytest.param("[::1]:8080", "[::1]", 8080, True, id="address-of-six"),
        pytest.param("[::1]:8080", "[0:0::0:1]", 8080, True, id="address-in-another-spelling"),
    ],
)
def test_a_grant_covers_what_it_names(grant: str, host: str, port: int, is_covered: bool) -> None:
    assert bool(covering([read_grant(grant)], read_host(host), port)) is is_covered


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("", id="empty"),
        pytest.param("127.1", id="short-address"),
        pytest.param("0x7f000001", id="hexadecimal-address"),
        pytest.param("2130706433", id="number"),
        pytest.param("0177.0.0.1", id="octal-address"),
        pytest.param("1.2.3.4.5", id="ends-with-a-number"),
        pytest.param("pypi.org/", id="slash"),
        pytest.param("pypi.org\n", id="newline"),
        pytest.param("user@pypi.org", id="user"),
        pytest.param("pÿpi.org", id="beyond-ascii"),
        pytest.param("a..b", id="empty-label"),
        pytest.param("-a.org", id="begins-with-a-dash"),
        pytest.param("a." * 130 + "org", id="too-long"),
    ],
)
def test_odd_hosts_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match="host"):
        read_host(host)


@pytest.mark.parametrize(
    "grant",
    [
        "",
        "*",
        "*.",
        "a.*.org",
        "a*.org",
        "http://pypi.org",
        "pypi.org:0",
        "pypi.org:65536",
        "pypi.org:",
        "pypi.org/path",
        "*.10.0.0.5",
        "::1",
        "pypi.org:80:80",
    ],
)
def test_what_is_no_grant_is_refused(grant: str) -> None:
    with pytest.raises(ValueError, match=r"host|address"):
        read_grant(grant)


@pytest.mark.parametrize(
    "grant, address, is_reached",
    [
        pytest.param("a.test", "93.184.216.34", True, id="public"),
        pytest.param("a.test", "2606:2800:220:1::1", True, id="public-six"),
        pytest.param("*.a.test", "93.184.216.34", True, id="public-by-wildcard"),
        pytest.param("a.test", "127.0.0.1", False, id="loopback"),
        pytest.param("a.test", "10.1.2.3", False, id="private"),
        pytest.param("a.test", "100.64.0.1", False, id="shared-by-carriers"),
        pytest.param("a.test", "169.254.169.254", False, id="metadata-of-clouds"),
        pytest.param("a.test", "0.0.0.0", False, id="unspecified"),
        pytest.param("a.test", "224.0.0.1", False, id="multicast"),
        pytest.param("a.test", "::1", False, id="loopback-six"),
        pytest.param("a.test", "fe80::1", False, id="link-local-six"),
        pytest.param("a.test", "fd00::1", False, id="private-six"),
        pytest.param("a.test", "::ffff:127.0.0.1", False, id="loopback-in-six"),
        pytest.param("a.test", "64:ff9b::7f00:1", False, id="loopback-behind-nat64"),
        pytest.param("a.test", "2002:7f00:1::", False, id="loopback-in-6to4"),
        pytest.param("*.a.test:8080", "10.1.2.3", False, id="private-by-wildcard"),
        pytest.param("a.test:8080", "10.1.2.3", True, id="private-by-name-and-port"),
        pytest.param("a.test:8080", "127.0.0.1", False, id="loopback-by-a-name"),
        pytest.param("a.test:8080", "169.254.169.254", False, id="metadata-by-a-name"),
        pytest.param("a.test:8080", "224.0.0.1", False, id="multicast-by-name-and-port"),
        pytest.param("localhost:8080", "127.0.0.1", True, id="localhost"),
        pytest.param("localhost", "127.0.0.1", False, id="localhost-without-its-port"),
        pytest.param("127.0.0.1:8080", "127.0.0.1", True, id="loopback-as-address"),
        pytest.param("169.254.169.254:80", "169.254.169.254", True, id="link-local-as-address"),
    ],
)
def test_addresses_behind_a_name(grant: str, address: str, is_reached: bool) -> None:
    assert read_grant(grant).reaches(ip_address(address)) is is_reached
