"""The environment of the work: machine, repository, and rule files outside the folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

RULE_FILES = ("AGENTS.md", "CLAUDE.md")
"""Files with rules for agents; the second is used only where the first is missing or empty."""
TOP_RULE_FILES = (*RULE_FILES, ".github/copilot-instructions.md", "GEMINI.md", ".cursorrules")
"""Read at the top of a trusted folder; the first that has text counts."""


def rule_files_below(files: Iterable[str], top: str = "") -> list[str]:
    """Return one rule file per folder from these paths, none for the folder ``top``."""
    by_folder: dict[str, set[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name in RULE_FILES and f"{folder}/" != top and folder:
            by_folder.setdefault(folder, set()).add(name)
    return [f"{folder}/{min(names)}" for folder, names in by_folder.items()]


@dataclass(frozen=True, slots=True)
class OuterRules:
    """A rule file for agents outside the workspace folders."""

    source: str
    """Its origin, in words for the model."""
    text: str
    is_trusted: bool
    """It is the user's own, or belongs to the repository of a trusted folder."""


class Environment(Protocol):
    """Facts for the system prompt; unknown facts are left out."""

    async def facts(self) -> tuple[str, ...]:
        """Return sentences about the system, folders, git and checkers."""
        ...

    async def rules(self) -> tuple[OuterRules, ...]:
        """Return the user's own rules, then those of the parent folders, outermost first."""
        ...
