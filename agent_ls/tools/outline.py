"""outline: what a file defines, with line numbers but without bodies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.errors import ToolError
from agent_ls.domain.record import Record
from agent_ls.domain.symbols import Symbol
from agent_ls.loop.extension_points import ToolContext, ToolOutput
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.safety.text import cleaned
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.plain_tool import PlainTool


class OutlineArguments(Arguments):
    """Which file."""

    path: FilePath = Field(description="File with code.")


class OutlineOptions(Record):
    """How much one outline shows."""

    max_symbols: int = 400
    """Deeper levels are left out until the rest fits."""


@dataclass(frozen=True, slots=True)
class Outline(PlainTool):
    """Shows a file's symbols."""

    name: ClassVar[str] = "outline"
    description: ClassVar[str] = (
        "List a file's definitions with their lines; cheaper than reading it."
    )
    title: ClassVar[str] = "Outline {path}"
    Arguments: ClassVar[type[Arguments]] = OutlineArguments

    workspace: Workspace
    code: CodeIntel
    options: OutlineOptions = OutlineOptions()

    async def run(self, arguments: OutlineArguments, context: ToolContext) -> ToolOutput:
        """Return one line for each symbol, deeper ones indented."""
        file = await self.workspace.read(arguments.path)
        symbols = await self.code.symbols(file.path, file.text)
        if symbols is None:
            raise ToolError(
                f"The symbols of {arguments.path} are not known: no grammar for it, or it is too "
                "large. Use grep and read_file to look, edit_file to change it."
            )
        shown, note = self._fitting(symbols)
        lines = [f"{_lines(one)}  {'  ' * one.depth}{cleaned(one.signature)}" for one in shown]
        if note:
            lines.append(note)
        if file.is_dirty:
            lines.append("(This is the editor's text; it is not saved yet.)")
        return ToolOutput(
            "\n".join(lines) or f"No definitions were found in {arguments.path}.",
            data={"path": arguments.path, "symbols": len(symbols)},
        )

    def _fitting(self, symbols: Iterable[Symbol]) -> tuple[list[Symbol], str]:
        """Return the symbols that fit, and a note on the others."""
        every = shown = list(symbols)
        most = max((one.depth for one in every), default=0)
        while len(shown) > self.options.max_symbols and most:
            most -= 1
            shown = [one for one in every if one.depth <= most]
        shown = shown[: self.options.max_symbols]
        left = len(every) - len(shown)
        return shown, f"({left} more, deeper or later, are left out)" if left else ""


def _lines(symbol: Symbol) -> str:
    if symbol.first_line == symbol.last_line:
        return f"{symbol.first_line}"
    return f"{symbol.first_line}-{symbol.last_line}"
