"""What the tools that work on one file's symbols share: its text, its symbols, clear refusals."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.domain.edits import ChangeText, Replacement, TextFile
from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.as_read import place_as_read
from agent_ls.edits.lines import flattened
from agent_ls.edits.merge import rebase
from agent_ls.edits.minimal import replacements_between
from agent_ls.edits.requests import Refused
from agent_ls.loop.ports.codeintel import CodeIntel
from agent_ls.loop.ports.workspace import SeenTexts, Workspace
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.naming import NotOne, is_numbered, resolve


async def symbols_in(
    path: str, workspace: Workspace, code: CodeIntel
) -> tuple[TextFile, Language, Sequence[Symbol]]:
    """Return the newest text, its language and its symbols.

    Errors: ``ToolError`` when nobody can parse it, which says what to do instead.
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


def check_as_listed(
    file: TextFile, wanted: str, seen: SeenTexts | None, *, is_taken_out: bool
) -> None:
    """Do nothing where a name in a file that the model has not read means what it was shown.

    Errors: ``ToolError`` for a file that changed since ``outline`` or ``find_symbol`` showed what
    it defines, when the definition is taken out or one of several; and for one of several in a
    file of which nothing was shown. Of files that may hold secrets nothing is kept.
    """
    if seen is None or not (is_taken_out or is_numbered(wanted)):
        return
    path = file.path
    listed, mark = seen.listed(path), seen.mark_of(path, file.text)
    if mark is None:
        return
    if listed is None and is_numbered(wanted):
        reason = f"You have not looked which one {wanted} is"
    elif listed not in (None, mark):
        reason = "It changed since you looked what it defines, and you have not read it"
    else:
        return
    raise ToolError(f"{path} was not changed. {reason}. Read {wanted} with read_file first.")


async def symbol_as_read(path: str, read: str, wanted: str, code: CodeIntel) -> Symbol | None:
    """Return the symbol that the name means in the text that the model read; None without one."""
    found = resolve(await code.symbols(path, read) or (), wanted)
    return None if isinstance(found, NotOne) else found


def replaced_as_read(
    file: TextFile, newer: tuple[Symbol, str], read: str, older: tuple[Symbol, str]
) -> tuple[ChangeText, bool]:
    """Return the change of a symbol that the model knows from another text than the newest one.

    Shape: ``newer`` and ``older`` are the symbol in each text and what that text becomes; with the
    change comes whether others' changes in the symbol were merged with it.
    Errors: ``ToolError`` where others changed the same lines of it since, or it may be another one.
    """
    (now, after), (was, wanted) = newer, older
    if flattened(file.text[now.start : now.end]) == flattened(read[was.start : was.end]):
        return placed_as_read(file, after, read, wanted), False
    # What somebody wrote in it since is nothing that the model meant to replace.
    edits = replacements_between(read, wanted)
    merged = rebase(read, edits, file.text)
    if isinstance(merged, Refused):
        old = f"{now.qualified} changed since you read it, and your text is the old."
        raise ToolError(f"{file.path} was not changed. {merged.reason if edits else old}")
    return ChangeText(path=file.path, base_version=file.version, replacements=merged), True


def placed_as_read(file: TextFile, after: str, read: str, wanted: str) -> ChangeText:
    """Return the change that gives ``after``; ``wanted`` is the same of the text that was read.

    Errors: ``ToolError`` where the two may be about different places.
    """
    change = change_of(file, after)
    older = replacements_between(read, wanted)

    def place(text: str) -> tuple[Replacement, ...]:
        return change.replacements if text == file.text else older

    placed = place_as_read(read, file.text, place).placed
    if isinstance(placed, Refused):
        raise ToolError(f"{file.path} was not changed. {placed.reason}")
    return change


def change_of(file: TextFile, after: str) -> ChangeText:
    """Return the least change that gives the text; ``ToolError`` when it is there already."""
    replacements = replacements_between(file.text, after)
    if not replacements:
        raise ToolError(f"{file.path} already has exactly this text; nothing was done.")
    return ChangeText(path=file.path, base_version=file.version, replacements=replacements)
