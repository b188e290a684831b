"""What code defines, and where it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_ls.domain.symbols import Definitions, Fault, Occurrences, Symbol


class CodeIntel(Protocol):
    """What code defines and where it is used, on the newest texts; parsing never holds the loop.

    Errors: ``ToolError`` when an answer takes too long or its process ends.
    """

    async def symbols(self, path: str, text: str) -> Sequence[Symbol] | None:
        """Return the symbols of a text, outermost first; None when nobody can parse it."""
        ...

    async def language(self, path: str, text: str) -> str:
        """Return the id of the language that a text with symbols is in; "" for any other."""
        ...

    async def faults(self, path: str, before: str, after: str) -> Sequence[Fault]:
        """Return the syntax errors that ``after`` has and ``before`` had not."""
        ...

    async def find(self, name: str, limit: int) -> Definitions:
        """Return definitions in the workspace by name, qualified name or part, the best first."""
        ...

    async def references(self, name: str, below: str, limit: int) -> Occurrences:
        """Return where a name stands in code below a file or folder, by path and line."""
        ...

    async def repository_map(self, near: Sequence[str], max_tokens: int) -> str:
        """Return the definitions that matter most, seen from these files, as text."""
        ...
