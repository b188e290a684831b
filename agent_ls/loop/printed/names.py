"""Finds the tool that a call means although something sticks to its name."""

from __future__ import annotations

from collections.abc import Container

from agent_ls.loop.printed.families import NAME_ENDS, NAME_PREFIXES

_AROUND = " \t\r\n\"'`“”"


def tool_meant(name: str, tools: Container[str]) -> str:
    """Return the tool of ``tools`` without marks of a model's format; the name itself if none."""
    if name in tools:
        return name
    plain = name.strip(_AROUND)
    for end in NAME_ENDS:
        if match := end.search(plain):
            plain = plain[: match.start()].strip(_AROUND)
    while plain not in tools:
        prefix = next((one for one in NAME_PREFIXES if plain.startswith(one)), None)
        if prefix is None:
            return name
        plain = plain.removeprefix(prefix)
    return plain
