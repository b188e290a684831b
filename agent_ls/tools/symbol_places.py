"""What the tools that work on one file's symbols share: its text, its symbols, clear refusals."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.edits import ChangeText, TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.minimal import replacements_between
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.naming import NotOne, resolve


async def symbols_in(
    path: str, workspace: Workspace, code: CodeIntel
) -> tuple[TextFile, Language, Sequence[Symbol]]:
    """Return the newest text, its language and its symbols.

    Errors: ``ToolError`` when nobody can parse it, which says what to do instead.
    """
    file = await workspace.read(path)
    language = language_of("", path)
    symbols = await code.symbols(path, file.text)
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


def change_of(file: TextFile, after: str) -> ChangeText:
    """Return the least change that gives the text; ``ToolError`` when it is there already."""
    replacements = replacements_between(file.text, after)
    if not replacements:
        raise ToolError(f"{file.path} already has exactly this text; nothing was done.")
    return ChangeText(path=file.path, base_version=file.version, replacements=replacements)
