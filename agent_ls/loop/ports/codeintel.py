"""Symbols of code: where they are defined and used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from agent_ls.domain.symbols import Definitions, Fault, Occurrences, Symbol, TextPair


class CodeIntel(Protocol):
    """Definitions and uses of names, on the newest texts; parsing never blocks the event loop.

    Errors: ``ToolError`` when an answer takes too long or the parser process ends.
    """

    async def symbols(self, path: str, text: str) -> Sequence[Symbol] | None:
        """Return the symbols of a text, outermost first; None when no parser handles the file."""
        ...

    async def faults(self, path: str, before: str, after: str) -> Sequence[Fault]:
        """Return the syntax errors in ``after`` that ``before`` did not have."""
        ...

    async def find(self, name: str, limit: int) -> Definitions:
        """Return definitions by name, qualified name or part of one, best match first."""
        ...

    async def references(self, name: str, below: str, limit: int) -> Occurrences:
        """Return uses of a name in code below a file or folder, by path and line."""
        ...

    async def renamed(self, name: str, below: str, new_name: str) -> Mapping[str, TextPair]:
        """Return by path what a name's one definition and its uses become under a new name.

        Errors: also ``ToolError`` where nobody knows which uses mean that definition.
        """
        ...

    async def repository_map(self, near: Sequence[str], max_tokens: int) -> str:
        """Return the most relevant definitions as text, ranked by relation to ``near``."""
        ...
