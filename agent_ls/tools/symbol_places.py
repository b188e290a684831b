"""Shared by the tools for symbols: reads a file's symbols and finds the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.edits import ChangeText, TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.lines import flattened
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.naming import NotOne, resolve
from agent_ls.tools.changing import change_of


async def symbols_in(
    path: str, workspace: Workspace, code: CodeIntel
) -> tuple[TextFile, Language, Sequence[Symbol]]:
    """Return the newest text, its language and its symbols.

    Errors: ``ToolError`` if the file cannot be parsed; it names the tools to use instead.
    """
    file = await workspace.read(path)
    symbols = await code.symbols(path, file.text)
    language = language_of(await code.language(path, file.text))
    if language is None or symbols is None:
        raise ToolError(
            f"The symbols of {path} are not known: no grammar for it, or it is too large. "
            "Use grep and read_file to look, edit_file to change it."
        )
    return file, language, symbols


def the_symbol(symbols: Sequence[Symbol], wanted: str, path: str) -> Symbol:
    """Return the one symbol of that name; ``ToolError`` with the candidates for none or several."""
    found = resolve(symbols, wanted)
    if isinstance(found, NotOne):
        more = " Nothing was done."
        if found.candidates:
            more = "\nNothing was done: give the full name of one, or use edit_file."
        elif not found.near:
            more = f" Nothing was done; outline shows what {path} defines."
        raise ToolError(f"{path}: {found.reason}{more}")
    return found


async def check_as_read(
    file: TextFile, symbol: Symbol, wanted: str, code: CodeIntel, seen: SeenTexts | None
) -> None:
    """Refuse a symbol that others changed since the model read the file. Errors: ``ToolError``."""
    read = None if seen is None else await seen.text(file.path)
    if read is None or flattened(read) == flattened(file.text):
        return
    older = resolve(await code.symbols(file.path, read) or (), wanted)
    was = "" if isinstance(older, NotOne) else flattened(read[older.start : older.end])
    if was != flattened(file.text[symbol.start : symbol.end]):
        raise ToolError(
            f"{file.path} was not changed. {symbol.qualified} is not as you read it any more. "
            f"Read {wanted} with read_file first."
        )


async def checked_change(file: TextFile, after: str, code: CodeIntel) -> ChangeText:
    """Return the change to a text; ``ToolError`` if it adds a syntax error."""
    faults = await code.faults(file.path, file.text, after)
    if faults:
        raise ToolError(
            f"{file.path} was not changed: the new text would leave a syntax error at line "
            f"{faults[0].line}: {faults[0].text}\nGive all that belongs there, such as the key, "
            "the comma or the closing bracket, or use edit_file."
        )
    return change_of(file, after)
