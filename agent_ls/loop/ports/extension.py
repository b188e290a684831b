"""What the user and trusted folders add to the agent by files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent_ls.domain.attachments import Attachment
from agent_ls.domain.commands import CommandList, CustomCommand, OpeningCall


class Commands(Protocol):
    """The custom commands."""

    async def listed(self, called: str = "") -> CommandList:
        """Return the commands as their files are now.

        ``called`` is the one that a prompt calls: to know it may take longer.
        """
        ...

    async def text_of(self, command: CustomCommand, arguments: str, session_id: str) -> str:
        """Return the prompt of a call. Errors: ``AgentLsError`` if it cannot be made."""
        ...

    async def opening(
        self, command: CustomCommand, arguments: str, session_id: str
    ) -> tuple[OpeningCall, ...]:
        """Return the calls that a call's prompt needs first: of commands, and of named files.

        Errors: ``AgentLsError`` if these are too many.
        """
        ...

    async def attached(self, prompt: str) -> tuple[Attachment, ...]:
        """Return what goes with a prompt because it names it.

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

    @property
    def words(self) -> str:
        """Return the instructions, and the names of the files."""
        if not self.files:
            return self.body
        files = "\n".join(self.files)
        return (
            f"{self.body}\n\nFiles of this skill, in {self.folder}; read them with skill:\n{files}"
        )


class Skills(Protocol):
    """The skills of a session."""

    @property
    def listed(self) -> tuple[Skill, ...]:
        """Return the skills that the model may load, by name."""
        ...

    @property
    def has_any(self) -> bool:
        """Say whether there are skills, also such as only the user calls."""
        ...

    @property
    def readable(self) -> tuple[Path, ...]:
        """Return the folders of the user's own skills that hold no secrets."""
        ...

    async def load(self, name: str, arguments: str = "") -> LoadedSkill:
        """Return a skill that the model may load. Errors: ``ToolError``."""
        ...

    async def read(self, name: str, file: str) -> str:
        """Return the text of one of a skill's files. Errors: ``ToolError``."""
        ...
