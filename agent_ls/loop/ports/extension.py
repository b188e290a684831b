"""What the user and trusted folders add to the agent by files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_ls.domain.commands import CommandList, CustomCommand


class Commands(Protocol):
    """The custom commands."""

    async def listed(self) -> CommandList:
        """Return the commands as their files are now."""
        ...

    async def text_of(self, command: CustomCommand, arguments: str) -> str:
        """Return the prompt of a call. Errors: ``AgentLsError`` if it cannot be made."""
        ...

    async def attached(self, prompt: str) -> str:
        """Return what is appended to a prompt for what it names; empty: nothing.

        Errors: ``AgentLsError`` if it cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as the model sees it before it is loaded."""

    name: str
    description: str
    """When it is of use."""


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """A skill's instructions and files."""

    folder: Path
    body: str
    files: tuple[str, ...]
    """Relative to the folder; of many the first."""


class Skills(Protocol):
    """The skills of a session."""

    @property
    def listed(self) -> tuple[Skill, ...]:
        """Return the skills, by name."""
        ...

    async def load(self, name: str) -> LoadedSkill:
        """Return a skill. Errors: ``ToolError``."""
        ...

    async def read(self, name: str, file: str) -> str:
        """Return the text of one of a skill's files. Errors: ``ToolError``."""
        ...
