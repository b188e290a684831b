"""Tools that are not ours: they come and go with the servers that offer them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from agent_ls.domain.model_io import ToolSpec


class ToolSource(Protocol):
    """The tools of all configured servers, named ``server/tool``."""

    @property
    def tools(self) -> dict[str, Any]:
        """Return the tools that can be called now, by name; the mapping stays up to date."""
        ...

    @property
    def states(self) -> Mapping[str, str]:
        """Return how each configured server is, by name, for a user."""
        ...

    @property
    def instructions(self) -> Mapping[str, str]:
        """Return what approved servers say on how to use them, by server; foreign text."""
        ...

    async def settle(self) -> None:
        """Learn at the start of a turn which tools there are; takes a bounded time."""
        ...

    def offered(self, known: Collection[str]) -> tuple[ToolSpec, ...]:
        """Return the tools to offer, in order; of many only those ``known``, and a search."""
        ...

    def held(self, tool: str) -> str:
        """Return why a user must see calls of this tool, in every mode; empty: they need not."""
        ...
