"""Addresses as people write them: understood, or named."""

from __future__ import annotations

import pytest

from agent_ls.providers.addresses import below, read_address
from agent_ls.safety.addresses import is_loopback

OLLAMA = "http://127.0.0.1:11434"

READ = {
    "nothing": ("", "", ""),
    "a-blank": (" \n", "", ""),
    "as-it-should-be": ("https://models.example/v1", "", "https://models.example/v1"),
    "space-around-it": (" http://there/v1 \n", "", "http://there/v1"),
    "this-machine-without-a-scheme": ("localhost:8080/v1", "", "http://localhost:8080/v1"),
    "an-ip-without-a-scheme": ("127.0.0.1:8080", "", "http://127.0.0.1:8080"),
    "ollama-on-all-addresses": ("0.0.0.0", OLLAMA, OLLAMA),
    "ollama-on-all-with-a-port": ("0.0.0.0:9", OLLAMA, "http://127.0.0.1:9"),
    "ollama-on-all-of-ipv6": ("[::]:9", OLLAMA, "http://[::1]:9"),
    "ollama-elsewhere": ("box", OLLAMA, "http://box:11434"),
    "ollama-with-a-path": ("box/api", OLLAMA, "http://box:11434/api"),
    "ollama-with-a-scheme": ("https://box", OLLAMA, "https://box"),
}


@pytest.mark.parametrize("text, home, address", READ.values(), ids=READ)
def test_an_address_is_understood(text: str, home: str, address: str) -> None:
    assert read_address(text, home) == address


WRONG = {
    "a-space-inside": ("http://there/v 1", "space inside"),
    "a-line-end-inside": ("http://there\n/v1", "space inside"),
    "no-scheme": ("models.example/v1", "begin with http:// or https://"),
    "another-scheme": ("ftp://models.example", "begin with http:// or https://"),
    "no-host": ("http:///v1", "followed by a host"),
    "no-port": ("http://there:port/v1", "followed by a host"),
    "no-address": ('"http://there"', "begin with http:// or https://"),
}


@pytest.mark.parametrize("text, words", WRONG.values(), ids=WRONG)
def test_an_address_that_cannot_be_used_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_address(text)


@pytest.mark.parametrize(
    "url, expected",
    [
        ("http://127.0.0.1:1", True),
        ("127.0.0.5:80", True),
        ("localhost", True),
        ("http://localhost.example", False),
        ("http://127.0.0.1.example", False),
        ("http://127.0.0.1@evil.example", False),
        ("http://10.0.0.1", False),
        ("http://[nonsense", False),
    ],
)
def test_loopback_is_this_machine_and_nothing_that_looks_like_it(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


def test_parts_go_below_an_address() -> None:
    assert below("http://there/", "", "models") == "http://there/models"
    assert below("http://there", "v1", "models") == "http://there/v1/models"
