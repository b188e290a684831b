"""What a text becomes when a symbol is replaced or something is put beside or into it. Pure.

New text takes the indentation of its place; lines inside strings over several lines keep theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.edits.elisions import unclear_marker
from agent_ls.edits.indents import in_steps, indent_of, style_of, width
from agent_ls.edits.lines import flattened
from agent_ls.edits.marks import leaves_out
from agent_ls.edits.readings import unwrapped
from agent_ls.syntax.languages import Language
from agent_ls.syntax.strings import rows_in_strings
from agent_ls.tools.symbol_bounds import as_entry, whole
from agent_ls.tools.symbol_heads import lost

Position = Literal["before", "after", "inside_end"]

_LISTED = frozenset({"key", "member"})
"""Kinds that stand in lists with commas."""
_SMALL = frozenset({"key", "member", "field", "variable", "constant", "type", "macro"})
_COMMA = re.compile(r"[ \t]*,")


def replaced(text: str, symbol: Symbol, new_text: str, language: Language) -> tuple[str, list[str]]:
    """Return the text with the symbol replaced, and what the model should know of it."""
    block, notes = _bare(new_text), list[str]()
    if not block:
        raise ToolError("new_text is empty. To take a symbol out, use edit_file.")
    whole(symbol, text)
    block = as_entry(block, text, symbol, language)
    start, end = symbol.start, symbol.end
    if symbol.own_start > start and not _opens_with_comment(block, language):
        start = symbol.own_start
        notes.append("The comment above it was kept.")
    old = text[start:end]
    if leaves_out(old, block):
        raise ToolError(unclear_marker().reason)
    for mark in (";", ","):
        if block.endswith(mark) and not old.endswith(mark) and text[end : end + 1] == mark:
            end += 1
    if old.endswith(";") and not block.endswith(";"):
        end -= 1
    if symbol.kind == "key" and block.endswith(",") and text[end - 1 : end] != ",":
        block = block.removesuffix(",")
    if gone := lost(old, block, language):
        notes.append(f"Not in the new text and so gone: {', '.join(gone)}.")
    place = _place(text, start)
    placed = _placed(block, place, text, language, place + flattened(old)).lstrip()
    return text[:start] + placed + text[end:], notes


def inserted(
    text: str,
    symbols: Sequence[Symbol],
    anchor: Symbol,
    position: Position,
    new_text: str,
    language: Language,
) -> str:
    """Return the text with new text before or after a symbol, or at the end of its body."""
    block = _bare(new_text)
    if not block:
        raise ToolError("There is no text to insert.")
    if position != "before":
        whole(anchor, text)
    if position == "inside_end":
        return _inside(text, symbols, anchor, block, language)
    if anchor.kind in _LISTED:
        return _in_list(text, anchor, position, block, language)
    block = as_entry(block, text, anchor, language)
    gap = _gap(text, symbols, anchor, block, language)
    placed = _placed(block, _place(text, anchor.start), text, language)
    if position == "before":
        at = anchor.start
        if not _is_first(text, at):
            return f"{text[:at]}{placed.lstrip()}\n{_place(text, at)}{text[at:]}"
        at = text.rfind("\n", 0, at) + 1
        at += text.startswith("\ufeff", at)
        return text[:at] + placed + "\n" * (1 + gap) + text[at:]
    at = _line_end(text, anchor.end, language)
    if at is None:
        rest = text[anchor.end :].lstrip(" \t")
        return f"{text[: anchor.end]}\n{placed}\n{_place(text, anchor.start)}{rest}"
    following = _next(symbols, anchor)
    is_tight = following is not None and not text[at : following.start].count("\n") > 1
    return text[:at] + "\n" * (1 + gap) + placed + "\n" * (gap * is_tight) + text[at:]


def _inside(
    text: str, symbols: Sequence[Symbol], anchor: Symbol, block: str, language: Language
) -> str:
    if anchor.body is None:
        raise ToolError(f"{anchor.qualified} has no body to put text into; use before or after.")
    start, end = anchor.body
    inner = [one for one in symbols if start <= one.start and one.end <= end]
    inner = [one for one in inner if one.depth == anchor.depth + 1]
    if inner and inner[-1].kind in _LISTED and not text[inner[-1].end : end - 1].strip(" \t\r\n,"):
        return _in_list(text, inner[-1], "after", block, language)
    if anchor.kind in ("function", "method", "constructor"):
        gap = 0
    elif inner:
        gap = _gap(text, symbols, inner[-1], block, language)
    else:
        gap = int("\n" in block)
    outer = _place(text, anchor.own_start)
    if text[start : start + 1] == "{" and text[end - 1 : end] == "}":
        deeper = _indent_inside(text, start + 1, end - 1) or outer + _unit(text, language)
        kept = text[: end - 1].rstrip()
        placed = _placed(block, deeper, text, language)
        if len(kept) == start + 1:
            gap = 0
        return f"{kept}{chr(10) * (1 + gap)}{placed}\n{outer}{text[end - 1 :]}"
    if language.id != "python":
        raise ToolError(f"{anchor.qualified} has no body to put text into; use before or after.")
    if _is_first(text, start):
        placed = _placed(block, _place(text, start), text, language)
        at = _line_end(text, end, language) or end
        return text[:at] + "\n" * (1 + gap) + placed + text[at:]
    # `class A: pass` on one line: the body gets lines of its own.
    deeper = outer + _unit(text, language)
    old = text[start:end]
    lines = [] if old.strip() in ("pass", "...") else [deeper + old]
    lines.append(_placed(block, deeper, text, language))
    return text[:start].rstrip() + "\n" + "\n".join(lines) + text[end:]


def _in_list(
    text: str, anchor: Symbol, position: Literal["before", "after"], block: str, language: Language
) -> str:
    """Put an entry before or after another one, with commas between them."""
    block = block.removesuffix(",")
    is_first = _is_first(text, anchor.start)
    placed = _placed(block, _place(text, anchor.start), text, language)
    if position == "before":
        if not is_first:
            return f"{text[: anchor.start]}{placed.lstrip()}, {text[anchor.start :]}"
        at = text.rfind("\n", 0, anchor.start) + 1
        return f"{text[:at]}{placed},\n{text[at:]}"
    comma = _COMMA.match(text, anchor.end)
    if comma is None:
        between = "\n" + placed if is_first else " " + placed.lstrip()
        return f"{text[: anchor.end]},{between}{text[anchor.end :]}"
    at = _line_end(text, comma.end(), language) if is_first else None
    if at is None:
        return f"{text[: comma.end()]} {placed.lstrip()},{text[comma.end() :]}"
    return f"{text[:at]}\n{placed},{text[at:]}"


def _bare(new_text: str) -> str:
    """Return new text with LF ends, without what is wrapped around it and blank lines there."""
    lines = unwrapped(flattened(new_text).lstrip("\ufeff").strip("\n")).split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines).rstrip()


def _placed(block: str, place: str, text: str, language: Language, old: str = "") -> str:
    """Return the block indented for its place, in the style of the old text or else the file's."""
    lines = block.split("\n")
    kept, docstrings = rows_in_strings(block, language)
    if language.id in ("c", "cpp"):
        # Directives stay at the margin.
        kept |= {row for row, line in enumerate(lines) if row and line.startswith("#")}
    style = style_of(flattened(text).split("\n"))
    code = [line for row, line in enumerate(lines) if row not in kept and row not in docstrings]
    first = indent_of(lines[0])
    leads = [indent_of(line) for line in code[1:] if line.strip()]
    if not first and place and leads and _is_absolute(code, place, style.unit, language):
        return "\n".join([place + lines[0], *lines[1:]])
    restyle = in_steps(code, old.split("\n"), style)
    common = first
    if not all(lead.startswith(first) for lead in leads):
        common = min([first, *leads], key=len)
    least = min(map(width, leads), default=0)
    found: list[str] = []
    for row, line in enumerate(lines):
        lead = indent_of(line)
        # A docstring may have been written at the margin on purpose.
        if row in kept or (row in docstrings and width(lead) < least):
            found.append(line)
        elif not line.strip():
            found.append("")
        else:
            deeper = lead.removeprefix(common)
            if restyle is not None:
                deeper = restyle(deeper) or deeper
            found.append(place + deeper + line[len(lead) :])
    return "\n".join(found)


_HEADS = ("@", "#[", "[[", "#", "//", "/*", "<!--", "--")
"""How a line begins that the next one stands level with: a decorator, an attribute, a comment."""


_CLOSERS = ("}", ")", "]")


def _is_absolute(code: list[str], place: str, unit: str, language: Language) -> bool:
    """Say whether only the first line lacks the indentation that the others have already."""
    goal = width(place)
    rest = [line for line in code[1:] if line.strip()]
    level = [line for line in rest if width(indent_of(line)) == goal]
    # Python's last line belongs to a body; with braces it is the one that closes the definition.
    ends = level if language.id == "python" else rest[-1:]
    is_closed = bool(ends) and all(one.lstrip().startswith(_CLOSERS) for one in ends)
    is_level = is_closed or code[0].startswith(_HEADS)
    least = min(width(indent_of(line)) for line in rest)
    return least >= goal + (0 if is_level else width(unit) or 1)


def _place(text: str, at: int) -> str:
    """Return the indentation of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return indent_of(line)


def _is_first(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip("\ufeff \t")


def _line_end(text: str, at: int, language: Language) -> int | None:
    """Return where the line ends when only a comment or a separator follows; else None."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    rest = text[at:end].strip().lstrip(",;").strip()
    if rest and not rest.startswith((*language.line, *(one[0] for one in language.block))):
        return None
    return end - 1 if text[end - 1 : end] == "\r" else end


def _unit(text: str, language: Language) -> str:
    usual = "\t" if language.id == "go" else "    "
    return style_of(flattened(text).split("\n")).unit or usual


def _indent_inside(text: str, start: int, end: int) -> str:
    """Return the indentation of the first line in a body that begins a line of its own."""
    for line in text[start:end].split("\n")[1:]:
        if line.strip():
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
    return 2 if language.id == "python" and not _place(text, anchor.start) else 1
