"""Replaces a symbol in a text, or inserts text beside or into it. Pure.

Works on whole lines: a symbol that shares its first or last line with other code is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import mode
from typing import Literal

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.indents import indent_of
from agent_ls.edits.lines import flattened
from agent_ls.edits.marks import leaves_out, unclear_marker
from agent_ls.syntax.languages import Language
from agent_ls.syntax.strings import code_end
from agent_ls.tools.symbol_lines import (
    bare,
    indent_at,
    is_first_on_line,
    line_end,
    placed_at,
    unit_of,
)

Position = Literal["before", "after", "inside_end"]

_MAX_LINE_CHARS = 80
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
    _, stop = _lines_of(symbol, text, language)
    if symbol.shared:
        raise ToolError(
            f"Line {symbol.line} declares {', '.join(dict.fromkeys(symbol.shared))} too: "
            f"{symbol.signature}\nNothing was done. Use edit_file."
        )
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
    return text[:start] + _with_rest(placed, text, symbol, stop, language), notes


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
    first, stop = _lines_of(anchor, text, language, is_kept=True)
    if position == "inside_end":
        return _inside(text, symbols, anchor, block, language)
    gap = _gap(text, symbols, anchor, block, language)
    place = indent_at(text, anchor.start)
    own = place + flattened(text[anchor.start : anchor.end])
    placed = placed_at(block, place, text, language, own)
    if position == "before":
        return text[:first] + placed + "\n" * (1 + gap) + text[first:]
    following = next((one for one in symbols if one.start >= anchor.end), None)
    is_tight = following is not None and not text[stop : following.start].count("\n") > 1
    return text[:stop] + "\n" * (1 + gap) + placed + "\n" * (gap * is_tight) + text[stop:]


def _lines_of(
    symbol: Symbol, text: str, language: Language, *, is_kept: bool = False
) -> tuple[int, int]:
    """Return where a symbol's first line begins and its last ends.

    Errors: ``ToolError`` if other code shares them, or a syntax error makes them uncertain. If the
    symbol ``is_kept``, a comment behind it may go over several lines.
    """
    if "\r" in text.replace("\r\n", ""):
        raise ToolError("This file ends lines with CR alone. Nothing was done. Use edit_file.")
    if symbol.fault_line is not None:
        line = text.split("\n")[symbol.fault_line - 1].strip()[:_MAX_LINE_CHARS]
        raise ToolError(
            f"What belongs to {symbol.qualified} is not certain: the file has a syntax error in it "
            f"or right beside it, at line {symbol.fault_line} ({line}). Nothing was done. Use "
            "edit_file, or mend the error first."
        )
    stop = line_end(text, symbol.end, language, across=is_kept)
    if stop is None or not is_first_on_line(text, symbol.start):
        raise _shares_line(symbol)
    first = text.rfind("\n", 0, symbol.start) + 1
    return first + text.startswith("\ufeff", first), stop


def _shares_line(symbol: Symbol) -> ToolError:
    return ToolError(
        f"{symbol.qualified} shares its line with other code. Nothing was done. Use edit_file."
    )


def _lost(text: str, symbol: Symbol, block: str) -> list[str]:
    """Return the decorators, attributes and words like ``export`` that only the old text has."""
    if symbol.body is None:
        around = text[symbol.own_start : symbol.end].partition("=")[0]
    else:
        start, end = symbol.body
        around = text[symbol.own_start : start] + text[end : symbol.end]
    gone = Counter(_WORD.findall(around)) - Counter(_WORD.findall(block))
    return [f"{one}{_CLOSERS.get(one[:2], '')}" for one in gone]


def _with_rest(placed: str, text: str, symbol: Symbol, stop: int, language: Language) -> str:
    """Return the new text and all that follows the symbol, with one separator between them.

    A comment after the new text replaces the one after the symbol.
    """
    end = code_end(placed, language)
    code, comment, rest = placed[:end], placed[end:], text[symbol.end : stop].lstrip()
    if not code.strip():
        raise ToolError("The new text has no entry or definition but a comment; use edit_file.")
    separator = rest[:1] if rest.startswith(_SEPARATORS) else ""
    if separator or symbol.kind == "key":
        code = code.removesuffix(",").removesuffix(";").rstrip()
    elif text[symbol.end - 1] == ";" and not code.endswith(";"):
        is_type = language.id in ("c", "cpp") and symbol.body is not None
        code += ";" * (not code.endswith("}") or is_type or _VALUE.match(code) is not None)
    return code + (separator + comment + text[stop:] if comment else text[symbol.end :])


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
    """Return the number of blank lines between a symbol and text beside it, as around its like."""
    is_small = anchor.first_line == anchor.last_line and anchor.body is None
    if "\n" not in block and (is_small or anchor.kind == "key"):
        return 0
    blocks = [one for one in symbols if one.depth == anchor.depth and one.body is not None]
    gaps = [
        text.count("\n", one.end, other.start) - 1
        for one, other in pairwise(blocks)
        if one.end <= other.start and not text[one.end : other.start].strip()
    ]
    if gaps:
        return max(0, mode(gaps))
    return 2 if language.id == "python" and not indent_at(text, anchor.start) else 1
