"""Replaces a symbol in a text, or inserts text beside or into it. Pure.

Owns the lines, commas and semicolons around a symbol. Refuses to change a line that other code
shares.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.indents import indent_of
from agent_ls.edits.lines import flattened
from agent_ls.edits.marks import leaves_out, unclear_marker
from agent_ls.syntax.endings import code_end
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_bounds import check_certain, check_kind
from agent_ls.tools.symbol_lines import (
    bare,
    indent_at,
    is_first_on_line,
    line_end,
    next_code,
    placed_at,
    unit_of,
)

Position = Literal["before", "after", "inside_end"]

_SMALL = frozenset({"key", "member", "field", "variable", "constant", "type", "macro"})
_SEPARATORS = (",", ";")
_VALUE = re.compile(r"[^({]*=")
"""The beginning of an assignment, which a closing brace does not end."""
_WORD = re.compile(
    r"@(?!interface\b)[\w.:$]+|#!?\[\s*\w+|\[\[\s*\w+|"
    r"\b(?:export|default|declare|readonly|typedef|template|alignas|__attribute__|__declspec)\b"
)
"""Decorators, attributes and words like ``export`` around a definition."""
_CLOSERS = {"#[": "]", "[[": "]]"}


def replaced(text: str, symbol: Symbol, new_text: str, language: Language) -> tuple[str, list[str]]:
    """Return the text with the symbol replaced, and notes for the model."""
    block, notes = bare(new_text), list[str]()
    if not block:
        raise ToolError("new_text is empty. To take a symbol out, use edit_file.")
    check_certain(symbol, text, language)
    check_certain(symbol, text, language, beginning=True)
    check_kind(block, text, symbol, language)
    start = symbol.start
    if symbol.own_start > start and not _opens_with_comment(block, language):
        start = symbol.own_start
        notes.append("The comment above it was kept.")
    old = text[start : symbol.end]
    if leaves_out(old, block):
        raise ToolError(unclear_marker().reason)
    if gone := _lost(text, symbol, block):
        notes.append(f"Not in the new text and so gone: {', '.join(gone)}.")
    place = indent_at(text, start)
    placed = placed_at(block, place, text, language, place + flattened(old)).lstrip()
    return text[:start] + _before_rest(placed, text, symbol, language), notes


def inserted(
    text: str,
    symbols: Sequence[Symbol],
    anchor: Symbol,
    position: Position,
    new_text: str,
    language: Language,
) -> str:
    """Return the text with new text before or after a symbol, or at the end of its body."""
    block = bare(new_text)
    if not block:
        raise ToolError("There is no text to insert.")
    check_certain(anchor, text, language, beginning=position == "before")
    if position == "inside_end":
        return _inside(text, symbols, anchor, block, language)
    check_kind(block, text, anchor, language)
    if anchor.is_listed:
        return _in_list(text, anchor, position, block, language)
    gap = _gap(text, symbols, anchor, block, language)
    place = indent_at(text, anchor.start)
    own = place + flattened(text[anchor.start : anchor.end])
    placed = placed_at(block, place, text, language, own)
    if position == "before":
        at = _line_start(text, anchor)
        return text[:at] + placed + "\n" * (1 + gap) + text[at:]
    at = line_end(text, anchor.end, language, across=True)
    if at is None:
        raise _shares_line(anchor)
    following = next((one for one in symbols if one.start >= anchor.end), None)
    is_tight = following is not None and not text[at : following.start].count("\n") > 1
    return text[:at] + "\n" * (1 + gap) + placed + "\n" * (gap * is_tight) + text[at:]


def _shares_line(symbol: Symbol) -> ToolError:
    return ToolError(
        f"{symbol.qualified} shares its line with other code. Nothing was done. Use edit_file."
    )


def _line_start(text: str, symbol: Symbol) -> int:
    """Return where a symbol's first line begins. Errors: ``ToolError`` if other code shares it."""
    if not is_first_on_line(text, symbol.start):
        raise _shares_line(symbol)
    at = text.rfind("\n", 0, symbol.start) + 1
    return at + text.startswith("\ufeff", at)


def _lost(text: str, symbol: Symbol, block: str) -> list[str]:
    """Return the decorators, attributes and words like ``export`` that only the old text has."""
    if symbol.body is None:
        around = text[symbol.own_start : symbol.end].partition("=")[0]
    else:
        start, end = symbol.body
        around = text[symbol.own_start : start] + text[end : symbol.end]
    gone = Counter(_WORD.findall(around)) - Counter(_WORD.findall(block))
    return [f"{one}{_CLOSERS.get(one[:2], '')}" for one in gone]


def _parted(placed: str, language: Language) -> tuple[str, str]:
    """Return new text as two parts: the code, and the blanks and comment after it."""
    end = code_end(placed, language)
    if not placed[:end].strip():
        raise ToolError("The new text has no entry or definition but a comment; use edit_file.")
    return placed[:end], placed[end:]


def _before_rest(placed: str, text: str, symbol: Symbol, language: Language) -> str:
    """Return the new text and all that follows the symbol, with one separator between them.

    A comment after the new text replaces the one after the symbol.
    """
    code, comment = _parted(placed, language)
    end, is_separated = symbol.end, False
    following = next_code(text, end, language)
    at = line_end(text, end, language)
    if text[following : following + 1] in _SEPARATORS and "\n" not in text[end:following]:
        is_separated = True
    ends_itself = text[end - 1] == ";"
    if is_separated or symbol.is_listed or (at is None and not ends_itself):
        code = code[:-1].rstrip() if code.endswith(_SEPARATORS) else code
    elif ends_itself and not code.endswith(";"):
        is_type = language.id in ("c", "cpp") and symbol.body is not None
        is_value = _VALUE.match(code) is not None
        is_needed = at is None or not code.endswith("}") or is_value or is_type
        code += ";" * is_needed
    if not comment:
        return code + text[end:]
    if at is None or (is_separated and text[end:following].strip()):
        raise ToolError(
            f"A comment behind the text could hide what follows {symbol.qualified} on its line. "
            "Nothing was done: give the text without it, or use edit_file."
        )
    separator = text[end : following + 1] if is_separated else ""
    return code + separator + comment + text[at:]


def _in_list(text: str, anchor: Symbol, position: Position, block: str, language: Language) -> str:
    """Put an entry before or after another one, with commas between them."""
    placed = placed_at(block, indent_at(text, anchor.start), text, language)
    entry, comment = _parted(placed, language)
    entry = entry.removesuffix(",").rstrip()
    first = _line_start(text, anchor)
    if position == "before":
        return f"{text[:first]}{entry},{comment}\n{text[first:]}"
    end = anchor.end
    at = line_end(text, end, language)
    following = next_code(text, end, language)
    is_last = text[following : following + 1] != ","
    # A comma on a later line is another style, with commas before the entries: refused below.
    is_closed = text[following : following + 1] == ";"
    if at is None or (not is_last and following > at) or (is_closed and comment):
        raise _shares_line(anchor)
    if is_closed:
        return f"{text[:end]},\n{entry}{text[end:]}"
    if is_last:
        return f"{text[:end]},{text[end:at]}\n{entry}{comment}{text[at:]}"
    return f"{text[:at]}\n{entry},{comment}{text[at:]}"


def _inside(
    text: str, symbols: Sequence[Symbol], anchor: Symbol, block: str, language: Language
) -> str:
    ends = "" if anchor.body is None else text[anchor.body[0]] + text[anchor.body[1] - 1]
    is_braced = ends == "{}"
    if anchor.body is None or not (is_braced or language.id == "python"):
        raise ToolError(f"{anchor.qualified} has no body to put text into; use before or after.")
    start, end = anchor.body
    inner = [one for one in symbols if start <= one.start and one.end <= end]
    inner = [one for one in inner if one.depth == anchor.depth + 1]
    if language.id == "java" and anchor.kind == "enum":
        raise ToolError(
            f"{anchor.qualified} is an enum of Java: its constants end before its members. Nothing "
            "was done. Name the constant or member that the text is to stand before or after, or "
            "use edit_file."
        )
    if inner and inner[-1].is_listed:
        _check_last(text, inner[-1], end - 1, language)
        check_kind(block, text, inner[-1], language)
        return _in_list(text, inner[-1], "after", block, language)
    gap = 0
    if anchor.kind not in ("function", "method", "constructor"):
        gap = _gap(text, symbols, inner[-1], block, language) if inner else int("\n" in block)
    outer = indent_at(text, anchor.own_start)
    own = outer + flattened(text[anchor.own_start : end])
    if is_braced:
        lead = _indent_inside(text, start + 1, end - 1, inner)
        placed = placed_at(block, lead or outer + unit_of(text, language), text, language, own)
        kept = text[: end - 1].rstrip()
        gap *= len(kept) > start + 1
        return f"{kept}{chr(10) * (1 + gap)}{placed}\n{outer}{text[end - 1 :]}"
    if not is_first_on_line(text, start):
        raise _shares_line(anchor)
    placed = placed_at(block, indent_at(text, start), text, language, own)
    at = line_end(text, end, language) or end
    return text[:at] + "\n" * (1 + gap) + placed + text[at:]


def _check_last(text: str, last: Symbol, closer: int, language: Language) -> None:
    """Refuse to put an entry after one that is not the last of its list."""
    at = next_code(text, last.end, language)
    if text[at : at + 1] == ",":
        at = next_code(text, at + 1, language)
    if at < closer:
        raise ToolError(
            f"What follows {last.qualified} is no symbol that could be named, so nothing was put "
            "behind it. Use edit_file, or before and after another entry."
        )


def _indent_inside(text: str, start: int, end: int, inner: Sequence[Symbol]) -> str:
    """Return the indentation of a body: that of a member, else of its first line."""
    for one in inner:
        if is_first_on_line(text, one.start):
            return indent_at(text, one.start)
    lines = text[start:end].split("\n")[1:]
    return next((indent_of(line) for line in lines if line.strip()), "")


def _opens_with_comment(block: str, language: Language) -> bool:
    openers = (*language.line, *(one[0] for one in language.block))
    return bool(openers) and block.lstrip().startswith(openers)


def _gap(
    text: str, symbols: Sequence[Symbol], anchor: Symbol, block: str, language: Language
) -> int:
    """Return the usual number of blank lines between definitions like these."""
    is_small = anchor.kind in _SMALL or anchor.body is None
    if is_small and anchor.first_line == anchor.last_line and "\n" not in block:
        return 0
    level = [one for one in symbols if one.depth == anchor.depth]
    gaps = Counter(
        text.count("\n", one.end, other.start) - 1
        for one, other in pairwise(level)
        if one.end <= other.start
        and not text[one.end : other.start].strip()
        and not {one.kind, other.kind} & _SMALL
    )
    if gaps:
        return max(0, max(gaps, key=lambda one: (gaps[one], one)))
    return 2 if language.id == "python" and not indent_at(text, anchor.start) else 1
