"""Convert new lines from tabs to blanks, or back, if they differ from the whole file.

Used if the quoted lines do not show which is intended. If the depth is not certain the edit is
refused, because mixed indentation breaks Python, YAML and make.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from agent_ls.edits.indents import Indent, indent_of, width
from agent_ls.edits.keys import stripped
from agent_ls.edits.locate import IndexedText
from agent_ls.edits.requests import Refused

_BLOCKS = (":", "{", "(", "[", "=>", "->", "then", "do", "else")
_TARGET = re.compile(r"[\w.%/$() -]+:(?!=)")
_QUOTES = ("`", "~~~", '"""', "'''")
_SAMPLE = 2_000
_OTHER = Refused(
    "The new text is indented with tabs where the file has blanks, or the other way round, and it "
    "is not certain how deep its lines are. Indent it as the file is.",
    "indentation",
)


def styled(
    indexed: IndexedText, old: Sequence[str], new: Sequence[str], at: int
) -> Indent | Refused | None:
    """Return the map to the file's indentation for lines at an offset; None to keep them.

    Shape: ``old`` are the replaced lines, indented as in the file.
    """
    unit, is_tabs = indexed.style.unit, indexed.style.unit == "\t"
    added = [line for line in new if stripped(line) and line not in old]
    leads = [lead for line in added if len(lead := indent_of(line)) > 1 or lead == "\t"]
    if not unit or indexed.style.is_mixed or all(("\t" in lead) == is_tabs for lead in leads):
        return None
    if any(indent_of(line) and ("\t" in indent_of(line)) != is_tabs for line in old):
        return None
    if not _has_blocks(indexed.file.lines, unit) or _is_text(indexed.file.flat, new, at):
        return None
    if not is_tabs:
        is_plain = all(set(lead) == {"\t"} for lead in leads if "\t" in lead)
        return (lambda indent: indent.replace("\t", unit)) if is_plain else _OTHER
    step = min(map(width, leads))
    if any(" " in lead and width(lead) % step for lead in leads):
        return _OTHER
    return lambda indent: "\t" * (width(indent) // step) if len(indent) > 1 else indent


def _has_blocks(lines: Sequence[str], unit: str) -> bool:
    """Tell whether some line is one level deeper below a block opener or a make target."""
    solid = [line for line in lines[:_SAMPLE] if line and not line.isspace()]
    return any(
        indent_of(other) == indent_of(one) + unit
        and (stripped(one).endswith(_BLOCKS) or _TARGET.match(one))
        for one, other in pairwise(solid)
    )


def _is_text(flat: str, new: Sequence[str], at: int) -> bool:
    """Tell whether the lines may be multi-line text, maybe of another language.

    They may be inside a string, a comment, a fence or a here-document, or one begins in them.
    """
    if any(line.count(mark) % 2 for line in new for mark in _QUOTES):
        return True
    if any("<<" in line for line in new) or flat.find("<<", 0, at) >= 0:
        return True
    opened = max(flat.rfind(f"{before}/*", 0, at) for before in ("\n", " ", "\t"))
    return opened > flat.rfind("*/", 0, at) or any(flat.count(one, 0, at) % 2 for one in _QUOTES)
