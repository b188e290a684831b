"""Refuses edits of symbols if it is not certain what belongs to them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_lines import next_code

_MAX_LINE_CHARS = 80
_KEY = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z_$][\w$]*)\s*:""")
_BRANCH = re.compile(r"(?m)^[ \t]*#[ \t]*(if|el|endif)")
_GO_WORDS = re.compile(r"(?:const|var|type|func|import)\b")
_GO_GROUPED = frozenset({"constant", "variable", "type", "struct", "interface"})


def check_certain(
    symbol: Symbol, text: str, language: Language, *, beginning: bool = False
) -> None:
    """Refuse a symbol whose end, or whose ``beginning``, is not certain. Errors: ``ToolError``."""
    row = symbol.runs_from if beginning else symbol.runs_into
    if "\r" in text.replace("\r\n", ""):
        raise ToolError("This file ends lines with CR alone. Nothing was done. Use edit_file.")
    if row is not None:
        line = text.split("\n")[row - 1].strip()[:_MAX_LINE_CHARS]
        raise ToolError(
            f"Where {symbol.qualified} {'begins' if beginning else 'ends'} is not certain: the "
            "file has a syntax error there, as with a missing bracket or an unknown word: "
            f"line {row} ({line}) may or may not be a part of it. Nothing was done. Use "
            "edit_file, or mend the error first."
        )
    if not beginning and language.id in ("c", "cpp") and _splits_a_branch(symbol, text):
        raise ToolError(
            f"{symbol.qualified} goes over the bounds of an #if in it or around it, so what "
            "belongs to it is not certain. Nothing was done. Use edit_file."
        )


def _splits_a_branch(symbol: Symbol, text: str) -> bool:
    depth = 0
    for branch in _BRANCH.finditer(text, symbol.start, symbol.end):
        word = branch[1]
        depth += (word == "if") - (word == "endif")
        if depth < 0 or (depth == 0 and word == "el"):
            return True
    return depth > 0


def check_shared(symbol: Symbol, before: Sequence[Symbol], after: Sequence[Symbol]) -> None:
    """Refuse new text that drops other symbols of the same declaration. Errors: ``ToolError``."""
    was, now = (Counter(one.qualified for one in each) for each in (before, after))
    gone = [name for name in dict.fromkeys(symbol.shared) if now[name] < was[name]]
    if gone:
        raise ToolError(
            f"Line {symbol.line} declares {', '.join(gone)} too, which would be gone: "
            f"{symbol.signature}\nNothing was done. Give the declaration with all of them, or use "
            "edit_file."
        )


def check_kind(block: str, text: str, symbol: Symbol, language: Language) -> None:
    """Refuse text that cannot stand in the symbol's place. Errors: ``ToolError``.

    An entry of an object needs its key; an entry of Go's ``const ( … )`` must have no keyword.
    """
    if symbol.kind == "key" and not _KEY.match(block, next_code(block, 0, language)):
        raise ToolError('Give the entry with its key, as "key": value. Nothing was done.')
    is_grouped = language.id == "go" and symbol.kind in _GO_GROUPED and not symbol.is_listed
    if not is_grouped or _GO_WORDS.match(text, symbol.own_start):
        return
    if word := next(filter(None, map(_GO_WORDS.match, block.split("\n"))), None):
        raise ToolError(
            f"{symbol.qualified} stands in a group in parentheses, where {word.group()} cannot "
            "stand. Nothing was done. Leave that word out, name something outside of the "
            "parentheses, or use edit_file."
        )
