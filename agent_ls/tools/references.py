"""references: where a name is used in code, not in comments or strings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.calls import ToolKind
from agent_ls.domain.errors import ToolError
from agent_ls.domain.record import Record
from agent_ls.edits.diff import patch_to_apply
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.approval import Rules
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import cleaned, visible_line
from agent_ls.safety.unread import unread_below
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool


class ReferencesArguments(Arguments):
    """Which name, and where."""

    words: ClassVar[str] = "references"

    name: str = Field(min_length=1, description="One name.")
    path: FilePath = Field(".", description="Where to search.")
    new_name: str = Field("", description="To rename it; gives a patch.")


class ReferencesOptions(Record):
    """How much one search shows."""

    max_lines: int = 80
    """Lines shown; the rest is counted."""


@dataclass(frozen=True, slots=True)
class References(PlainTool):
    """Finds uses of a name."""

    name: ClassVar[str] = "references"
    description: ClassVar[str] = "Find code that uses a name; * marks its definitions."
    title: ClassVar[str] = "References to {name}"
    kind: ClassVar[ToolKind] = ToolKind.SEARCH
    Arguments: ClassVar[type[Arguments]] = ReferencesArguments

    code: CodeIntel
    workspace: Workspace
    rules: Rules | None = None
    options: ReferencesOptions = ReferencesOptions()

    async def run(self, arguments: ReferencesArguments, context: ToolContext) -> ToolOutput:
        """Return each line that uses the name; of a qualified name only the last part counts.

        With a new name: the patch that renames it, where another server knows what to change.
        """
        name = _last_part(arguments.name)
        if arguments.new_name:
            changes = await self.code.renamed(name, arguments.path, arguments.new_name)
            if unread := await self._unread(changes, ".") - {arguments.path}:
                raise ToolError(
                    f"{visible_line(min(unread))} uses {name}, and a rule of the user is about "
                    "reading it. Rename it without this file, or ask the user."
                )
            patch = "".join(
                patch_to_apply(one.before, one.after, path) for path, one in changes.items()
            )
            return ToolOutput(patch, data={"lines": len(patch.splitlines())})
        found = await self.code.references(name, arguments.path, self.options.max_lines)
        # A language server that works beside agent-ls knows no rules.
        unread = await self._unread({one.path for one in found.found}, arguments.path)
        lines = [
            f"{visible_line(one.path)}:{one.line}:{'*' if one.is_definition else ' '}"
            f"{cleaned(one.text)}"
            for one in found.found
            if one.path not in unread
        ]
        if found.more:
            lines.append(f"({found.more} more lines; give a path)")
        lines = lines or [f"{name!r} stands nowhere in code."]
        if found.gap:
            lines.append(f"({found.gap})")
        return ToolOutput(
            "\n".join(lines),
            data={"lines": len(found.found) + found.more},
        )

    async def _unread(self, paths: Iterable[str], below: str) -> set[str]:
        """Return the files that a rule of the user keeps from being read."""
        found = await asyncio.to_thread(unread_below, below, self.workspace, self.rules)
        return found.among(paths)


def _last_part(name: str) -> str:
    for mark in ("::", "#", "."):
        name = name.rpartition(mark)[2] or name
    return name.removesuffix("()")
