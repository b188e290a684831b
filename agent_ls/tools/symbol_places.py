"""Shared by the tools for symbols: reads a file's symbols and finds the one that is meant."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.edits import TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.lines import flattened
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.naming import NotOne, is_numbered, resolve


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
            more = "\nNothing was done: name one of them, with its number."
        elif not found.near:
            more = f" Nothing was done; outline shows what {path} defines."
        raise ToolError(f"{path}: {found.reason}{more}")
    return found


async def check_as_known(
    file: TextFile, symbol: Symbol, wanted: str, code: CodeIntel, seen: SeenTexts | None,
    *, is_replaced: bool,
) -> None:  # fmt: skip
    """Refuse a symbol that may not be the one that the model knows. Errors: ``ToolError``.

    If the file changed since the model read or outlined it, a number may mean another symbol. A
    symbol to replace must be unchanged.
    """
    if seen is None or not (is_replaced or is_numbered(wanted)):
        return
    path = file.path
    read = await seen.text(path)
    if read is None:
        reason = _as_listed(file, wanted, seen)
    elif flattened(read) == flattened(file.text):
        reason = ""
    elif is_numbered(wanted):
        reason = f"It changed since you read it, so {wanted} may be another one by now"
    else:
        older = resolve(await code.symbols(path, read) or (), wanted)
        was = "" if isinstance(older, NotOne) else flattened(read[older.start : older.end])
        is_same = was == flattened(file.text[symbol.start : symbol.end])
        reason = "" if is_same else f"{symbol.qualified} is not as you read it any more"
    if reason:
        raise ToolError(f"{path} was not changed. {reason}. Read {wanted} with read_file first.")


def _as_listed(file: TextFile, wanted: str, seen: SeenTexts) -> str:
    """Return why an unread file may not be as the model was shown it; empty if it is."""
    listed, mark = seen.listed(file.path), seen.mark_of(file.path, file.text)
    if mark is None:
        # The file may hold secrets, so no mark of it is kept.
        return ""
    if listed is None and is_numbered(wanted):
        return f"You have not looked which one {wanted} is"
    if listed not in (None, mark):
        return "It changed since you looked what it defines, and you have not read it"
    return ""
