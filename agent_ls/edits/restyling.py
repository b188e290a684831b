"""New lines whose quoted lines say nothing of their indentation, in the file's own.

Lines indented with the other character than all of the file, or by other steps, are mapped by the
unit; where that is not certain, the other character is refused, as it breaks Python, YAML and make.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.edits.indents import Indent, indent_of, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import Ground
from agent_ls.edits.requests import Refused

_BLOCKS = (":", "{", "(", "[", "=>", "->", "then", "do", "else")
_RULE = re.compile(r"[^\s:=#][^:=#]*::?(?: [^=]*)?")
"""A target with what it is made of: what is made is below, behind a tab."""
_DIRECTIVE = re.compile(r"[ \t]*(?:ifn?def|ifn?eq|endif|else)\b")
_QUOTES = ("`", "~~~", '"""', "'''")
_HERE = re.compile(r"<<[-~]?([\"']?)([A-Z_][A-Z0-9_]*)\1(?![\w(])")
_SAMPLE = 2_000
_OTHER = Refused(
    "The new text is indented with tabs where the file has blanks, or the other way round, and it "
    "is not certain how deep its lines are. Indent it as the file is.",
    "indentation",
)


def styled(
    ground: Ground, old: Sequence[str], new: Sequence[str], at: int
) -> Indent | Refused | None:
    """Return the map into the file's indentation for lines at an offset; None: as they are.

    ``old`` are the lines that the new ones replace, which are indented as in the file.
    """
    style, flat = ground.style, ground.file.flat
    added = [line for line in new if stripped(line) and line not in old]
    leads = [lead for line in added if len(lead := indent_of(line)) > 1 or lead == "\t"]
    if not leads or not style.unit or style.is_mixed or _is_text(flat, new, at):
        return None
    is_open = not any(indent_of(line) for line in old)
    is_tabs = style.unit == "\t"
    if not any(("\t" in lead) != is_tabs for lead in leads):
        return _in_steps(ground, new) if is_open and not is_tabs else None
    quoted = {"\t" in lead for line in old if (lead := indent_of(line))}
    is_wide = len(style.unit) == width("\t") or _has_blocks(ground.file.lines, style.unit)
    if (not is_tabs) in quoted or not is_wide:
        return None
    if is_tabs:
        step = _step(new) or min(map(width, leads))
        if any(map(_DIRECTIVE.match, new)) or any(
            " " in lead and width(lead) % step for lead in leads
        ):
            return _OTHER
        return lambda indent: "\t" * (width(indent) // step) if len(indent) > 1 else indent
    if any(set(lead) != {"\t"} for lead in leads if "\t" in lead):
        return _OTHER
    return lambda indent: indent.replace("\t", style.unit)


def _in_steps(ground: Ground, new: Sequence[str]) -> Indent | None:
    """Return the map of blanks into the file's steps, where all of the lines show their own."""
    unit, steps, step = ground.style.unit, ground.style.steps, _step(new)
    if not step or step == 1 or not steps or step in steps:
        # One blank is no level: it sets a label off, such as `public:`.
        return None
    if not _has_blocks(ground.file.lines, unit):
        return None
    return lambda indent: unit * (len(indent) // step) + " " * (len(indent) % step)


def _step(new: Sequence[str]) -> int:
    """Return how deep blocks are in the new lines; 0 where a line is deeper for another reason."""
    solid = ["", *(line for line in new if stripped(line))]
    deeper = [
        (one, width(indent_of(other)) - width(indent_of(one)))
        for one, other in pairwise(solid)
        if width(indent_of(other)) > width(indent_of(one))
    ]
    opens = all(stripped(one).endswith(_BLOCKS) or _RULE.fullmatch(one) for one, _ in deeper)
    return min((size for _, size in deeper), default=0) if opens else 0


def _has_blocks(lines: Sequence[str], unit: str) -> bool:
    """Tell whether lines of the file are one level deeper below what opens a block."""
    solid = [line for line in lines[:_SAMPLE] if line and not line.isspace()]
    return any(
        indent_of(other) == indent_of(one) + unit
        and (stripped(one).endswith(_BLOCKS) or _RULE.fullmatch(one))
        for one, other in pairwise(solid)
    )


def _is_text(flat: str, new: Sequence[str], at: int) -> bool:
    """Tell whether the lines may be text over several lines, which may be another language.

    They are in a string, a comment or a fence that began lines above, or one begins in them.
    """
    if any(line.count(mark) % 2 for line in new for mark in (*_QUOTES, "<<-")):
        return True
    if any(stripped(line).endswith("::") for line in new):
        return True
    if any(flat.count(mark, 0, at) % 2 for mark in _QUOTES):
        return True
    opened = max(flat.rfind(f"{before}/*", 0, at) for before in ("\n", " ", "\t"))
    if opened > flat.rfind("*/", 0, at):
        return True
    return any(
        not re.search(rf"(?m)^[ \t]*{one[2]}$", flat[one.end() : at])
        for one in deque(_HERE.finditer(flat, 0, at), maxlen=1)
    )
