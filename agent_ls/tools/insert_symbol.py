"""insert_symbol: put text before or after a definition, or at the end of its body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent_ls.domain.approvals import Preview
from agent_ls.domain.calls import Effect, ToolKind
from agent_ls.domain.edits import ChangeText, TextFile, apply_replacements
from agent_ls.domain.symbols import Symbol
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.loop.sockets import ToolContext, ToolOutput
from agent_ls.tools.arguments import Arguments, FilePath
from agent_ls.tools.changing import change_of, check_whole, preview_of
from agent_ls.tools.plain_tool import PlainTool
from agent_ls.tools.symbol_edits import Position, inserted
from agent_ls.tools.symbol_places import check_as_known, symbols_in, the_symbol


class InsertSymbolArguments(Arguments):
    """Beside or in which symbol, and what."""

    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **Arguments.other_names,
        "anchor": ("symbol", "name", "anchor_symbol"),
        "text": ("new_text", "content", "code", "body"),
        "position": ("where",),
    }

    path: FilePath = Field(description="File to change.")
    anchor: str = Field(description="A definition there, such as Class or Class.method.")
    position: Position = Field(description="Where, seen from the anchor.")
    text: str = Field(description="What to insert.")

    @property
    def where(self) -> str:
        """Return the position in words."""
        return "at the end of" if self.position == "inside_end" else self.position


@dataclass(frozen=True, slots=True)
class InsertSymbol(PlainTool):
    """Adds a definition."""

    name: ClassVar[str] = "insert_symbol"
    description: ClassVar[str] = "Insert code beside a definition, or at the end of its body."
    effect: ClassVar[Effect] = Effect.WRITE
    kind: ClassVar[ToolKind] = ToolKind.EDIT
    group: ClassVar[str] = "change"
    rule: ClassVar[str | None] = "edit"
    Arguments: ClassVar[type[Arguments]] = InsertSymbolArguments

    workspace: Workspace
    code: CodeIntel
    seen: SeenTexts | None = None
    """None: the anchor is looked for in the newest text only."""

    async def preview(self, arguments: InsertSymbolArguments) -> Preview:
        """Return the diff."""
        file, anchor, change = await self._plan(arguments)
        title = f"Insert {arguments.where} {anchor.qualified} in {arguments.path}"
        return preview_of(title, self.kind, change, file.text, self.grant(arguments))

    async def run(self, arguments: InsertSymbolArguments, context: ToolContext) -> ToolOutput:
        """Plan the change; ACT applies it."""
        file, anchor, change = await self._plan(arguments)
        after = apply_replacements(file.text, change.replacements)
        line = after.count("\n", 0, change.replacements[0].start) + 1
        return ToolOutput(
            f"Inserted {arguments.where} {anchor.qualified} in {arguments.path}, "
            f"around line {line}.",
            data={"path": arguments.path},
            edits=(change,),
        )

    async def _plan(self, arguments: InsertSymbolArguments) -> tuple[TextFile, Symbol, ChangeText]:
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
