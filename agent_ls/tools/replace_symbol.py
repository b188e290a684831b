"""replace_symbol: replace a whole definition."""

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
from agent_ls.tools.symbol_bounds import check_shared
from agent_ls.tools.symbol_edits import replaced
from agent_ls.tools.symbol_places import check_as_known, symbols_in, the_symbol


class ReplaceSymbolArguments(Arguments):
    """Which symbol, and what stands in its place."""

    words: ClassVar[str] = "replace_symbol"

    path: FilePath = Field(description="File that has it.")
    symbol: str = Field(description="Its name as outline shows it, such as Class.method.")
    new_text: str = Field(description="The whole new definition, decorators included.")


@dataclass(frozen=True, slots=True)
class ReplaceSymbol(EditTool):
    """Replaces a definition."""

    name: ClassVar[str] = "replace_symbol"
    description: ClassVar[str] = "Rewrite one whole function, class or other definition."
    Arguments: ClassVar[type[Arguments]] = ReplaceSymbolArguments

    workspace: Workspace
    code: CodeIntel
    seen: SeenTexts | None = None
    """None: the definition is replaced even if it changed since the model read it."""

    async def plan(self, arguments: ReplaceSymbolArguments) -> ToolOutput:
        """Return the change and its diff."""
        file, symbol, change, notes = await self._change(arguments)
        after = apply_replacements(file.text, change.replacements)
        told = await self._renamed(arguments.path, after, symbol)
        said = f"Replaced {symbol.qualified} in {arguments.path}{told}"
        title, grant = f"Replace {symbol.qualified} in {arguments.path}", self.grant(arguments)
        return ToolOutput(
            " ".join([said, *notes]),
            data={"path": arguments.path},
            edits=(change,),
            preview=lambda: preview_of(title, self.kind, change, file.text, grant),
        )

    async def _change(
        self, arguments: ReplaceSymbolArguments
    ) -> tuple[TextFile, Symbol, ChangeText, list[str]]:
        path = arguments.path
        file, language, symbols = await symbols_in(path, self.workspace, self.code)
        check_whole(arguments.new_text, file.text)
        symbol = the_symbol(symbols, arguments.symbol, path)
        await check_as_known(file, symbol, arguments.symbol, self.code, self.seen, is_replaced=True)
        after, notes = replaced(file.text, symbol, arguments.new_text, language)
        if symbol.shared:
            check_shared(symbol, symbols, await self.code.symbols(path, after) or ())
        return file, symbol, change_of(file, after), notes

    async def _renamed(self, path: str, after: str, symbol: Symbol) -> str:
        """Return the lines of the new definition, and its name if that changed, in words."""
        symbols = await self.code.symbols(path, after) or ()
        place = [one for one in symbols if one.end > symbol.start and one.depth == symbol.depth]
        if not place:
            return ". No definition was recognised in its place; look at it."
        now = place[0]
        lines = f": now lines {now.first_line}-{now.last_line}."
        if now.name == symbol.name:
            return lines
        return f"{lines} Its name is now {now.qualified}; what uses {symbol.name} was not changed."
