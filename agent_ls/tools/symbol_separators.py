"""Commas and semicolons behind definitions, and the comments beside them. Pure."""

from __future__ import annotations

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.endings import code_end, ends_itself
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_placing import line_end, next_code

_SEPARATORS = (",", ";")


def parted(block: str, language: Language) -> tuple[str, str]:
    """Return the code of new text, and the comments behind it with the blanks before them.

    Errors: ``ToolError`` when it has no code.
    """
    end = code_end(block, language)
    if not end:
        raise ToolError("The new text has no entry or definition but a comment; use edit_file.")
    return block[:end], block[end:]


def without_separator(code: str) -> str:
    """Return code without the comma or semicolon behind it."""
    return code[:-1].rstrip() if code.endswith(_SEPARATORS) else code


def check_uncommented(behind: str, anchor: Symbol) -> None:
    """Do nothing without a comment behind new text; ``ToolError`` for one that could hide code."""
    if behind:
        raise ToolError(
            f"Code follows on the line of {anchor.qualified}, which the comment behind the text "
            "could hide. Nothing was done: give the text without it, or use edit_file."
        )


def put_before_rest(placed: str, text: str, symbol: Symbol, language: Language) -> str:
    """Return new text for a symbol with all that follows the symbol, one separator between them.

    Shape: comments behind the new text come after the separator; one that stands there already is
    not repeated.
    Errors: ``ToolError`` for no code, and for a comment that would hide what follows on the line.
    """
    code, behind = parted(placed, language)
    stop, past = _separator(text, symbol, language)
    if past > symbol.end or symbol.is_listed:
        # It is the place's, be it the last one of a list that ends without any.
        code = without_separator(code)
    elif stop < past and not code.endswith(";") and ends_itself(code, language):
        stop = past
    elif stop < past or is_in_declaration(text, symbol, language):
        code = code.removesuffix(";")
    between = text[symbol.end : stop]
    if "\n" in between:
        # The comma stands before the next entry.
        past = symbol.end
    else:
        code += between + text[stop:past]
    at = line_end(text, past, language)
    if at is None or text[past:at].lstrip().startswith(_SEPARATORS):
        check_uncommented(behind, symbol)
    elif text[past:at].strip() == behind.strip():
        behind = ""
    return code + behind + text[past:]


def _separator(text: str, symbol: Symbol, language: Language) -> tuple[int, int]:
    """Return where the separator behind a symbol begins and ends; both alike without one."""
    end = symbol.end
    if text[end - 1 : end] == ";":
        return end - 1, end
    at = next_code(text, end, language)
    is_its = symbol.is_listed or "\n" not in text[end:at]
    return (at, at + 1) if is_its and text[at : at + 1] in _SEPARATORS else (end, end)


def is_in_declaration(text: str, symbol: Symbol, language: Language) -> bool:
    """Say whether a type of C is defined where it is used, as in ``struct S { … } s;``."""
    if language.id not in ("c", "cpp") or symbol.kind not in ("struct", "enum", "class"):
        return False
    following = next_code(text, symbol.end, language)
    return text[symbol.end - 1] != ";" and text[following : following + 1] != ";"
