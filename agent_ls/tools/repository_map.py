"""repository_map: the definitions that matter most, within a budget of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.record import Record
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import cleaned
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool


class RepositoryMapArguments(Arguments):
    """Seen from which files."""

    paths: tuple[FilePath, ...] = Field(
        (), description="Files of interest; else those you changed."
    )


class RepositoryMapOptions(Record):
    """How large a map is."""

    max_tokens: int = Field(default=1_500, ge=100, le=8_000)
    """Tokens of one map, about four characters each."""


@dataclass(frozen=True, slots=True)
class RepositoryMap(PlainTool):
    """Shows the definitions that are used most."""

    name: ClassVar[str] = "repository_map"
    description: ClassVar[str] = "Show the definitions that matter most; a start in unknown code."
    title: ClassVar[str] = "Map the repository"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = RepositoryMapArguments

    workspace: Workspace
    code: CodeIntel
    options: RepositoryMapOptions = RepositoryMapOptions()

    def paths(self, arguments: RepositoryMapArguments) -> tuple[str, ...]:
        """Return the whole workspace."""
        return (".",)

    async def run(self, arguments: RepositoryMapArguments, context: ToolContext) -> ToolOutput:
        """Return files with definitions and their lines, the most used first.

        Files that are named, changed in this turn or not saved yet weigh more.
        """
        near = dict.fromkeys(arguments.paths)
        if not near:
            near |= dict.fromkeys(context.view.turn.touched)
            near |= dict.fromkeys(file.path for file in await self.workspace.dirty())
        text = await self.code.repository_map(list(near), self.options.max_tokens)
        return ToolOutput(
            cleaned(text) or "No file here is in a language whose definitions are known.",
            data={"chars": len(text)},
        )
