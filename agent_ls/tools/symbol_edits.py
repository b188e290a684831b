"""What a text becomes when a symbol is replaced or something is put beside or into it. Pure."""

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
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_bounds import as_entry, begun, in_lines, keyed, whole
from agent_ls.tools.symbol_heads import lost
from agent_ls.tools.symbol_lists import in_list, is_last_in_list
from agent_ls.tools.symbol_placing import (
    bare,
    indent_at,
    is_first_on_line,
    line_end,
    placed_at,
    unit_of,
)
from agent_ls.tools.symbol_separators import is_in_declaration, put_before_rest

Position = Literal["before", "after", "inside_end"]

_SMALL = frozenset({"key", "member", "field", "variable", "constant", "type", "macro"})
_NO_MEMBER = re.compile(
    r"\s*(?:#|(?:public|protected|private)\b[\w \t]*:(?!:)|\w+(?:[ \t]+\w+)?[ \t]*:\s*(?://|/\*|$))"
)


def replaced(text: str, symbol: Symbol, new_text: str, language: Language) -> tuple[str, list[str]]:
    """Return the text with the symbol replaced, and what the model should know of it."""
    block, notes = bare(new_text), list[str]()
    if not block:
        raise ToolError("new_text is empty. To take a symbol out, use edit_file.")
    in_lines(text)
    whole(symbol, text, language)
    begun(symbol, text)
    block = as_entry(block, text, symbol, language)
    entry = keyed(block, text, symbol, language)
    if entry != block:
        block = entry
        notes.append("Its key was kept.")
    start = symbol.start
    if symbol.own_start > start and not _opens_with_comment(block, language):
        start = symbol.own_start
        notes.append("The comment above it was kept.")
    old = text[start : symbol.end]
    if leaves_out(old, block):
        raise ToolError(unclear_marker().reason)
    gone = lost(old, block, language)
    if gone:
        notes.append(f"Not in the new text and so gone: {', '.join(gone)}.")
    place = indent_at(text, start)
    placed = placed_at(block, place, text, language, place + flattened(old)).lstrip()
    return text[:start] + put_before_rest(placed, text, symbol, language), notes


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
    in_lines(text)
    is_tail = position == "after" and _ends_line(text, anchor, language)
    if position == "before":
        begun(anchor, text)
    elif not is_tail:
        whole(anchor, text, language)
    if position == "inside_end":
        return _inside(text, symbols, anchor, block, language)
    if anchor.is_listed:
        return in_list(text, anchor, position, block, language)
    block = as_entry(block, text, anchor, language)
    if is_in_declaration(text, anchor, language) and not (
        position == "before" and is_first_on_line(text, anchor.start)
    ):
        raise ToolError(
            f"{anchor.qualified} is defined inside of a declaration, where nothing can stand "
            "beside it. Nothing was done. Name what is declared there, or use edit_file."
        )
    gap = _gap(text, symbols, anchor, block, language)
    place = indent_at(text, anchor.start)
    own = place + flattened(text[anchor.start : anchor.end])
    placed = placed_at(block, place, text, language, own)
    if position == "before":
        at = anchor.start
        if not is_first_on_line(text, at):
            return f"{text[:at]}{placed.lstrip()}\n{indent_at(text, at)}{text[at:]}"
        at = text.rfind("\n", 0, at) + 1
        at += text.startswith("\ufeff", at)
        return text[:at] + placed + "\n" * (1 + gap) + text[at:]
    at = line_end(text, anchor.end, language, across=True)
    if at is None:
        rest = text[anchor.end :].lstrip(" \t")
        return f"{text[: anchor.end]}\n{placed}\n{indent_at(text, anchor.start)}{rest}"
    following = _next(symbols, anchor)
    is_tight = following is not None and not text[at : following.start].count("\n") > 1
    return text[:at] + "\n" * (1 + gap) + placed + "\n" * (gap * is_tight) + text[at:]


def _ends_line(text: str, anchor: Symbol, language: Language) -> bool:
    """Say whether a symbol is what an unknown word left of its line, to the end of that.

    Where it ends is certain then.
    """
    return (
        anchor.first_line == anchor.last_line == anchor.runs_into
        and not is_first_on_line(text, anchor.start)
        and text[anchor.end - 1] == ";"
        and line_end(text, anchor.end, language) is not None
    )


def _inside(
    text: str, symbols: Sequence[Symbol], anchor: Symbol, block: str, language: Language
) -> str:
    if anchor.body is None:
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
    if inner and inner[-1].is_listed and is_last_in_list(text, inner[-1], end - 1, language):
        return in_list(text, inner[-1], "after", block, language)
    if anchor.kind in ("function", "method", "constructor"):
        gap = 0
    elif inner:
        gap = _gap(text, symbols, inner[-1], block, language)
    else:
        gap = int("\n" in block)
    outer = indent_at(text, anchor.own_start)
    if text[start : start + 1] == "{" and text[end - 1 : end] == "}":
        lead = _indent_inside(text, start + 1, end - 1, language)
        deeper = lead or outer + unit_of(text, language)
        kept = text[: end - 1].rstrip()
        own = outer + flattened(text[anchor.own_start : end])
        placed = placed_at(block, deeper, text, language, own)
        if len(kept) == start + 1:
            gap = 0
        return f"{kept}{chr(10) * (1 + gap)}{placed}\n{outer}{text[end - 1 :]}"
    if language.id != "python":
        raise ToolError(f"{anchor.qualified} has no body to put text into; use before or after.")
    if is_first_on_line(text, start):
        own = outer + flattened(text[anchor.own_start : end])
        placed = placed_at(block, indent_at(text, start), text, language, own)
        at = line_end(text, end, language) or end
        return text[:at] + "\n" * (1 + gap) + placed + text[at:]
    # `class A: pass` on one line: the body gets lines of its own.
    deeper = outer + unit_of(text, language)
    old = text[start:end]
    lines = [] if old.strip() in ("pass", "...") else [deeper + old]
    lines.append(placed_at(block, deeper, text, language))
    return text[:start].rstrip() + "\n" + "\n".join(lines) + text[end:]


def _indent_inside(text: str, start: int, end: int, language: Language) -> str:
    """Return the indentation of the first line in a body that begins a line of its own.

    Shape: labels, as of access to what follows them, and directives of C stand where they like.
    """
    for line in text[start:end].split("\n")[1:]:
        if line.strip() and not (language.id in ("c", "cpp") and _NO_MEMBER.match(line)):
            return indent_of(line)
    return ""


def _opens_with_comment(block: str, language: Language) -> bool:
    openers = (*language.line, *(one[0] for one in language.block))
    return bool(openers) and block.lstrip().startswith(openers)


def _next(symbols: Sequence[Symbol], anchor: Symbol) -> Symbol | None:
    return next((one for one in symbols if one.start >= anchor.end), None)


def _gap(
    text: str, symbols: Sequence[Symbol], anchor: Symbol, block: str, language: Language
) -> int:
    """Return how many blank lines stand between definitions like these."""
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
