"""Whether new lines without evidence take the indentation that the file has, and how.

Owns that choice: blanks change only in lines that are code for sure, in a file whose code shows
how it is indented. No text over several lines changes, which may be another language.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.edits.indents import Indent, Style, indent_of, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground

_BLOCKS = (":", "{", "(", "[", "=>", "->", "then", "do", "else")
_WORDS = re.compile(
    r"(?:(?:local )?function|def|class|module|begin|if|unless|while|until|for|case|sub|proc)\b"
)
_RULE = re.compile(r"[^\s:=#][^:=#]*::?(?: [^=]*)?")
"""A target with what it is made of: what is made is below, behind a tab."""
_DIRECTIVE = re.compile(r"[ \t]*(?:ifn?def|ifn?eq|endif)\b")
_QUOTES = ("`", "~~~", '"""', "'''")
_HERE = re.compile(r"<<[-~]?([\"']?)([A-Z_][A-Z0-9_]*)\1(?![\w(])")
_SAMPLE = 2_000


def restyled(ground: Ground, new: Sequence[str], at: int) -> Indent | None:
    """Return the map into the file's indentation for lines at an offset; None: as they are."""
    style = ground.style
    if not style.unit or style.is_mixed:
        return None
    into = _into(new, style)
    if into is None or not (
        _is_tab_wide(new, style) or _has_blocks(ground.file.lines[:_SAMPLE], style.unit)
    ):
        return None
    if _are_directives([*ground.file.lines, *new]) and any(map(_is_else, new)):
        # In a makefile, what is behind a tab is a command.
        return None
    return None if _is_in_text(ground.file.flat, at) else into


def untabbed(ground: Ground, new: Sequence[str], at: int) -> Indent | None:
    """Return the map of tabs into the blanks of a file that has no tab before its code; else None.

    Other lines of the new text are indented as the file is. Where its levels are not as wide as a
    tab, nobody knows how many of them one is.
    """
    style, flat = ground.style, ground.file.flat
    leads = [lead for line in new if "\t" in (lead := indent_of(line))]
    if not leads or not _are_tabs(leads) or len(style.unit) != width("\t") or style.is_mixed:
        return None
    if any(line.count(mark) % 2 for line in new for mark in (*_QUOTES, "<<-")):
        return None
    if flat.startswith("\t") or "\n\t" in flat or _is_in_text(flat, at):
        return None
    if not _has_blocks(ground.file.lines[:_SAMPLE], style.unit):
        return None
    return lambda indent: style.unit * len(indent) if set(indent) == {"\t"} else indent


def _into(new: Sequence[str], style: Style) -> Indent | None:
    solid = ["", *(line for line in new if line.strip())]
    leads = [lead for line in solid if (lead := indent_of(line))]
    if not leads or any(line.count(mark) % 2 for line in solid for mark in (*_QUOTES, "<<-")):
        return None
    if any(stripped(line).endswith("::") for line in solid):
        # What is below is text, indented as its author likes.
        return None
    wants_tabs = style.unit == "\t"
    if not wants_tabs and _are_tabs(leads):
        return lambda indent: style.unit * len(indent)
    deeper = [
        (one, len(indent_of(other)) - len(indent_of(one)))
        for one, other in pairwise(solid)
        if width(indent_of(other)) > width(indent_of(one))
    ]
    if any("\t" in lead for lead in leads) or not all(
        stripped(one).endswith(_BLOCKS) or (wants_tabs and _RULE.fullmatch(one))
        for one, _ in deeper
    ):
        return None
    step = min(size for _, size in deeper)
    if not wants_tabs and (step == 1 or not style.steps or step in style.steps):
        # One blank is no level: it sets a label off, such as `public:`.
        return None
    return lambda indent: style.unit * (len(indent) // step) + " " * (len(indent) % step)


def _are_tabs(leads: Sequence[str]) -> bool:
    return all(set(lead) == {"\t"} for lead in leads)


def _is_tab_wide(new: Sequence[str], style: Style) -> bool:
    """Tell whether the blanks that come for tabs reach as far, in whatever text."""
    leads = [lead for line in new if (lead := indent_of(line))]
    return len(style.unit) == width("\t") and _are_tabs(leads)


def _has_blocks(lines: Sequence[str], unit: str) -> bool:
    """Tell whether code of the file is one level deeper below what opens a block."""
    solid = (line for line in lines if line and not line.isspace())
    return any(
        indent_of(other) == indent_of(one) + unit and _opens(one) for one, other in pairwise(solid)
    )


def _opens(line: str) -> bool:
    body = stripped(line)
    return bool(body.endswith(_BLOCKS) or _WORDS.match(body) or _RULE.fullmatch(line))


def _are_directives(lines: Sequence[str]) -> bool:
    return any(map(_DIRECTIVE.match, lines))


def _is_else(line: str) -> bool:
    return line.split(maxsplit=1)[:1] == ["else"]


def _is_in_text(flat: str, at: int) -> bool:
    """Tell whether a place may be in a string, a comment or a fence that began lines above."""
    if any(flat.count(mark, 0, at) % 2 for mark in _QUOTES):
        return True
    opened = max(flat.rfind(f"{before}/*", 0, at) for before in ("\n", " ", "\t"))
    if opened > flat.rfind("*/", 0, at):
        return True
    return any(
        not re.search(rf"(?m)^[ \t]*{one[2]}$", flat[one.end() : at])
        for one in deque(_HERE.finditer(flat, 0, at), maxlen=1)
    )
