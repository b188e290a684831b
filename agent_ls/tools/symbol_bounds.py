"""Which symbols can be worked on as a whole: those of which it is certain what belongs to them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence

from agent_ls.domain.errors import ToolError
from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_placing import next_code
from agent_ls.tools.symbol_separators import parted, without_separator

_MAX_LINE_CHARS = 80
_LONE_CR = re.compile(r"\r(?!\n)")
_KEY = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[A-Za-z_$][\w$]*)\s*:[ \t]*""")
_BRANCH = re.compile(r"(?m)^[ \t]*#[ \t]*(if|el|endif)")
_GO_WORDS = {
    "constant": "const",
    "variable": "var",
    "type": "type",
    "struct": "type",
    "interface": "type",
}
"""What stands before each definition in Go, or once before several in parentheses."""
_GO_OPENS = re.compile(r"(?:const|var|type|func|import)\b")


def whole(symbol: Symbol, text: str, language: Language) -> None:
    """Do nothing for a symbol whose end is known; ``ToolError`` for one that runs over others."""
    if language.id in ("c", "cpp"):
        _keeps_branches(symbol, text)
    _is_certain(symbol, "ends", symbol.runs_into, text)


def begun(symbol: Symbol, text: str) -> None:
    """Do nothing for a symbol whose begin is known; ``ToolError`` for one that has others'."""
    _is_certain(symbol, "begins", symbol.runs_from, text)


def _is_certain(symbol: Symbol, does: str, row: int | None, text: str) -> None:
    if row is None:
        return
    line = text.split("\n")[row - 1].strip()[:_MAX_LINE_CHARS]
    raise ToolError(
        f"Where {symbol.qualified} {does} is not certain, for the file has a syntax error there, "
        f"as with a missing bracket or an unknown word: line {row} ({line}) may or may not be a "
        "part of it. Nothing was done. Use edit_file, or mend the error first."
    )


def _keeps_branches(symbol: Symbol, text: str) -> None:
    depth = 0
    for branch in _BRANCH.finditer(text, symbol.start, symbol.end):
        word = branch[1]
        depth += (word == "if") - (word == "endif")
        if depth < 0 or (depth == 0 and word == "el"):
            break
    else:
        if not depth:
            return
    raise ToolError(
        f"{symbol.qualified} goes over the bounds of an #if in it or around it, so what belongs to "
        "it is not certain. Nothing was done. Use edit_file."
    )


def in_lines(text: str) -> None:
    """Do nothing for a text in lines; ``ToolError`` for one whose lines a CR alone ends."""
    if "\r" in text and _LONE_CR.search(text):
        raise ToolError(
            "Lines of this file end with CR alone, so where its definitions are in lines is not "
            "known. Nothing was done. Use edit_file."
        )


def keeps_shared(symbol: Symbol, before: Sequence[Symbol], after: Sequence[Symbol]) -> None:
    """Do nothing when all is there still that the symbol's declaration defines besides it.

    Errors: ``ToolError`` with their names, when one would be gone.
    """
    was, now = (Counter(one.qualified for one in each) for each in (before, after))
    gone = [name for name in dict.fromkeys(symbol.shared) if now[name] < was[name]]
    if gone:
        raise ToolError(
            f"Line {symbol.line} declares {', '.join(gone)} too, which would be gone: "
            f"{symbol.signature}\nNothing was done. Give the declaration with all of them, or use "
            "edit_file."
        )


def as_entry(block: str, text: str, symbol: Symbol, language: Language) -> str:
    """Return the text without what Go has once before a group, where the symbol stands in one.

    Errors: ``ToolError`` when the text is something else than an entry of that group.
    """
    word = _GO_WORDS.get(symbol.kind) if language.id == "go" else None
    if word is None or _GO_OPENS.match(text, symbol.own_start):
        return block
    bare = re.sub(rf"(?m)^{word}[ \t]+(?=\w)", "", block)
    if any(_GO_OPENS.match(line) for line in bare.split("\n")):
        raise ToolError(
            f"{symbol.qualified} stands in {word} ( … ), where the new text cannot stand. Nothing "
            "was done. Name something outside of the parentheses, or use edit_file."
        )
    return bare


def keyed(block: str, text: str, symbol: Symbol, language: Language) -> str:
    """Return the new text of a key, which gets the old key when it is a value alone.

    Errors: ``ToolError`` when it is neither an entry nor plainly its value.
    """
    if symbol.kind != "key" or is_entry(block, language):
        return block
    key = _KEY.match(text, symbol.own_start)
    try:
        value = json.loads(without_separator(parted(block, language)[0]))
    except ValueError:
        key = None
    else:
        if isinstance(value, dict) and symbol.name in value:
            key = None
    if key is None:
        raise ToolError(
            f"It is not plain what {symbol.qualified} is to be. Nothing was done: give the entry "
            f'with its key, as "{symbol.name}": value.'
        )
    return key.group() + block


def is_entry(block: str, language: Language) -> bool:
    """Say whether a text begins with a key, be it behind comments."""
    return _KEY.match(block, next_code(block, 0, language)) is not None
