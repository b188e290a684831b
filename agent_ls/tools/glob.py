"""glob: files that match a name pattern, without ignored ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar

import pathspec
from pydantic import Field

from agent_ls.domain.calls import ErrorKind, ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.safety.text import visible_line
from agent_ls.tools.arguments import Arguments, FilePath, PathText
from agent_ls.tools.plain_tool import PlainTool

_MAX_FILES = 300


class GlobArguments(Arguments):
    """Which pattern, below which folder."""

    words: ClassVar[str] = "glob"

    pattern: PathText = Field(description="Such as src/**/*.ts or *.toml.")
    path: FilePath = Field(".", description="Folder to look in.")


@dataclass(frozen=True, slots=True)
class Glob(PlainTool):
    """Finds files by name."""

    name: ClassVar[str] = "glob"
    description: ClassVar[str] = "Find files by their names. Ignored files are left out."
    title: ClassVar[str] = "Find {pattern} in {path}"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = GlobArguments

    workspace: Workspace

    async def run(self, arguments: GlobArguments, context: ToolContext) -> ToolOutput:
        """Return the matching files, sorted, one a line."""
        found = await self.workspace.files(arguments.path)
        # Matching thousands of names is slow.
        files = await asyncio.to_thread(matching, found, arguments.pattern, arguments.path)
        lines = [visible_line(name) for name in files[:_MAX_FILES]]
        if len(files) > _MAX_FILES:
            lines.append(f"({len(files) - _MAX_FILES} more; narrow the pattern)")
        lines = lines or ["No file matches."]
        if found.gap:
            lines.append(f"({found.gap})")
        return ToolOutput("\n".join(lines), data={"files": len(files)})


def matching(files: list[str], pattern: str | None, path: str = ".") -> list[str]:
    """Return the files that match a pattern in the syntax of .gitignore; all without one.

    Shape: a pattern with a folder is tried from ``path`` and from the top, as both can be meant.
    Errors: ``ToolError`` for an invalid pattern.
    """
    if pattern is None:
        return files
    if pattern.startswith(("!", "#")):
        raise ToolError(f"{pattern!r} is no pattern for names.", ErrorKind.STRUCTURAL)
    try:
        spec = pathspec.GitIgnoreSpec.from_lines([pattern.removeprefix("./")])
    except ValueError as error:
        raise ToolError(f"The pattern cannot be read: {error}.", ErrorKind.STRUCTURAL) from None
    front = "" if path == "." else path.rstrip("/") + "/"
    return [
        name for name in files if spec.match_file(name) or spec.match_file(name.removeprefix(front))
    ]
