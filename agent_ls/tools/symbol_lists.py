"""Entries of lists with commas: keys, variants, members, what an object literal holds. Pure."""

from __future__ import annotations

from typing import Literal

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_bounds import is_entry
from agent_ls.tools.symbol_placing import (
    indent_at,
    is_first_on_line,
    line_end,
    next_code,
    placed_at,
)
from agent_ls.tools.symbol_separators import check_uncommented, parted, without_separator


def in_list(
    text: str, anchor: Symbol, position: Literal["before", "after"], block: str, language: Language
) -> str:
    """Put an entry before or after another one, with commas between them.

    Errors: ``ToolError`` for no entry, and for a comment of its that would hide what follows.
    """
    placed = placed_at(block, indent_at(text, anchor.start), text, language)
    entry, behind = parted(placed, language)
    entry = without_separator(entry)
    if anchor.kind == "key" and not is_entry(entry, language):
        raise ToolError('Give the new entry with its key, as "key": value. Nothing was done.')
    if not is_first_on_line(text, anchor.start):
        return _on_its_line(text, anchor, position, entry, behind, language)
    if position == "before":
        at = text.rfind("\n", 0, anchor.start) + 1
        at += text.startswith("\ufeff", at)
        return f"{text[:at]}{entry},{behind}\n{text[at:]}"
    end = anchor.end
    comma = next_code(text, end, language)
    if text[comma : comma + 1] != ",":
        at = line_end(text, end, language)
        if at is None or text[end:at].lstrip().startswith(";"):
            # What closes the list goes on behind the new entry.
            at = end
            check_uncommented(behind, anchor)
        return f"{text[:end]},{text[end:at]}\n{entry}{behind}{text[at:]}"
    if "\n" in text[end:comma]:
        # Commas stand before the entries here.
        at = len(text[: text.rfind("\n", 0, comma)].removesuffix("\r"))
        return f"{text[:at]}\n{indent_at(text, comma)}, {entry.lstrip()}{behind}{text[at:]}"
    at = line_end(text, comma + 1, language)
    if at is None:
        return _on_its_line(text, anchor, position, entry, behind, language)
    return f"{text[:at]}\n{entry},{behind}{text[at:]}"


def is_last_in_list(text: str, last: Symbol, closer: int, language: Language) -> bool:
    """Say whether only comments follow the entry in its list, whose closing brace is given.

    Errors: ``ToolError`` when something else does, of which nobody knows whether it has a comma.
    """
    at = next_code(text, last.end, language)
    if text[at : at + 1] == ",":
        at = next_code(text, at + 1, language)
    if at >= closer or text[at] == ";":
        return at >= closer
    raise ToolError(
        f"What follows {last.qualified} is no symbol that could be named, so nothing was put "
        "behind it. Use edit_file, or before and after another entry."
    )


def _on_its_line(
    text: str,
    anchor: Symbol,
    position: Literal["before", "after"],
    entry: str,
    behind: str,
    language: Language,
) -> str:
    """Put an entry beside one that shares its line with others."""
    check_uncommented(behind, anchor)
    if position == "before":
        return f"{text[: anchor.start]}{entry.lstrip()}, {text[anchor.start :]}"
    comma = next_code(text, anchor.end, language)
    if text[comma : comma + 1] != ",":
        return f"{text[: anchor.end]}, {entry.lstrip()}{text[anchor.end :]}"
    return f"{text[: comma + 1]} {entry.lstrip()},{text[comma + 1 :]}"
