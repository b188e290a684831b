"""What is around the work: the machine, the repository, rules from outside the folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
"""Files with rules for agents; the second counts only where the first is missing or empty."""


@dataclass(frozen=True, slots=True)
class OuterRules:
    """A file of rules for agents that is in no folder of the workspace."""

    source: str
    """Where it is from, for the model."""
    text: str
    is_trusted: bool
    """The user's own, or of the repository of a folder that the user trusts."""


class Surroundings(Protocol):
    """Facts for the system prompt; what cannot be found out is left out."""

    async def facts(self) -> tuple[str, ...]:
        """Return sentences about system, folders, git and checkers."""
        ...

    async def rules(self) -> tuple[OuterRules, ...]:
        """Return the user's own rules, then those of the folders above, the outermost first."""
        ...
