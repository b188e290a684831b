"""insert_symbol: put text before or after a definition, or at the end of its body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.edits import ChangeText, TextFile, apply_replacements
from agent_ls.domain.symbols import Symbol
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.sockets import ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import change_of, check_whole, preview_of
from agent_ls.tools.edit_tool import EditTool
from agent_ls.tools.symbol_edits import Position, inserted
from agent_ls.tools.symbol_places import check_as_known, symbols_in, the_symbol


class InsertSymbolArguments(Arguments):
    """Beside or in which symbol, and what."""

    words: ClassVar[str] = "insert_symbol"

    path: FilePath = Field(description="File to change.")
    anchor: str = Field(description="A definition there, such as Class or Class.method.")
    position: Position = Field(description="Where, seen from the anchor.")
    text: str = Field(description="What to insert.")

    @property
    def where(self) -> str:
        """Return the position in words."""
        return "at the end of" if self.position == "inside_end" else self.position


@dataclass(frozen=True, slots=True)
class InsertSymbol(EditTool):
    """Adds a definition."""

    name: ClassVar[str] = "insert_symbol"
    description: ClassVar[str] = "Insert code beside a definition, or at the end of its body."
    Arguments: ClassVar[type[Arguments]] = InsertSymbolArguments

    workspace: Workspace
    code: CodeIntel
    seen: SeenTexts | None = None
    """None: the anchor is looked for in the newest text only."""

    async def plan(self, arguments: InsertSymbolArguments) -> ToolOutput:
        """Return the change and its diff."""
        file, anchor, change = await self._change(arguments)
        where = f"{arguments.where} {anchor.qualified} in {arguments.path}"
        grant = self.grant(arguments)
        after = apply_replacements(file.text, change.replacements)
        line = after.count("\n", 0, change.replacements[0].start) + 1
        return ToolOutput(
            f"Inserted {where}, around line {line}.",
            data={"path": arguments.path},
            edits=(change,),
            preview=lambda: preview_of(f"Insert {where}", self.kind, change, file.text, grant),
        )

    async def _change(
        self, arguments: InsertSymbolArguments
    ) -> tuple[TextFile, Symbol, ChangeText]:
        path = arguments.path
        file, language, symbols = await symbols_in(path, self.workspace, self.code)
        check_whole(arguments.text, file.text)
        anchor = the_symbol(symbols, arguments.anchor, path)
        await check_as_known(
            file, anchor, arguments.anchor, self.code, self.seen, is_replaced=False
        )
        position, text = arguments.position, arguments.text
        after = inserted(file.text, symbols, anchor, position, text, language)
        return file, anchor, change_of(file, after)
