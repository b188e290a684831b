"""Detect definitions whose bounds are wrong because of a syntax error, as with a missing bracket.

Guesses where such a definition should end: at the first line no deeper than its first line that
looks like neither its end nor a part of it. Lines inside strings count too, since the string may
come from a missing quote.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

from tree_sitter import Node

from agent_ls.syntax.languages import Language

_TABS = 8
_PARTS = re.compile(
    rb"[)\]}{]|//|/\*|\*|<!--|#\s*(?:if|ifdef|ifndef|else|elif|endif|pragma|error|warning|line)\b"
    rb"|(?:else|elif|except|finally|catch|where|throws|extends|implements|permits|requires)\b"
    rb"|(?:public|private|protected|default)\s*:"
)
"""Start of a line at the level of a definition's first line that may belong to the definition."""
_NO_CODE = re.compile(rb"[)\]};,#]|//|/\*")
"""Start of text that may follow a definition on its last line."""
_ENDED = re.compile(rb"^\s*$|[;}]\s*$|\*/\s*$|^\s*(?://|#)")
"""Matches a line that cannot be in the middle of a C declaration."""
_WORD_BEFORE = re.compile(rb"\w[ \t]*$")
_LABEL = re.compile(rb"\w+\s*:")


class Broken:
    """The errors and missing nodes of a tree."""

    def __init__(self, root: Node) -> None:
        """Collect the nodes with a fault directly inside."""
        found, self._missing, faults = _broken_spans(root)
        spans = sorted(found)
        self._faults = sorted(faults)
        self._starts = [start for start, _ in spans]
        # Furthest end of all spans up to this one.
        self._ends = [*accumulate((end for _, end in spans), max)]

    def __bool__(self) -> bool:
        """Tell whether the tree has faults."""
        return bool(self._starts)

    def is_between(self, start: int, end: int) -> bool:
        """Tell whether a fault begins in this range of bytes."""
        at = bisect_left(self._faults, start)
        return at < len(self._faults) and self._faults[at] < end

    def is_around(self, node: Node) -> bool:
        """Tell whether a node lies inside a node that has a fault directly inside."""
        before = bisect_right(self._starts, node.start_byte)
        return before > 0 and self._ends[before - 1] >= node.end_byte

    def lacks_end(self, node: Node, data: bytes) -> bool:
        """Tell whether a token is missing directly before the node, or at its end with code after.

        Then a part of the line was parsed as another definition.
        """
        before, end = node.start_byte, node.end_byte
        while before and data[before - 1] in b" \t":
            before -= 1
        if before in self._missing and before < node.start_byte:
            return True
        if end not in self._missing:
            return False
        past = data.find(b"\n", end)
        rest = data[end : past if past >= 0 else len(data)].strip()
        return bool(rest) and not _NO_CODE.match(rest)


def _broken_spans(root: Node) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    """Return the spans of nodes that are or directly contain a fault, the offsets of missing nodes,
    and the offsets of all faults.
    """
    found: set[tuple[int, int]] = set()
    missing: set[int] = set()
    faults: set[int] = set()
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_error:
            found.add(node.byte_range)
        for child in node.children:
            if child.is_missing:
                missing.add(child.start_byte)
            if child.is_error or child.is_missing:
                found.add(node.byte_range)
                faults.add(child.start_byte)
            if child.has_error:
                stack.append(child)
    return found, missing, faults


def runs_into(
    outer: Node, name_row: int, data: bytes, broken: Broken, language: Language
) -> int | None:
    """Return the 1-based line where something else seems to begin inside a definition.

    Shape: the definition's last line if its closing token is missing there; in Python the line
    after it if that is deeper. None if no fault affects where the definition ends.
    """
    if not broken:
        return None
    if broken.lacks_end(outer, data):
        return outer.end_point.row + 1
    if not (outer.has_error or broken.is_around(outer)):
        return None
    first = outer.start_byte
    line_start = data.rfind(b"\n", 0, first) + 1
    depth = _depth(data[line_start:first])
    at = data.find(b"\n", first, outer.end_byte)
    row = outer.start_point.row
    while at >= 0:
        row += 1
        past = data.find(b"\n", at + 1, outer.end_byte)
        if row > name_row and _is_another(
            data[at + 1 : past if past >= 0 else outer.end_byte], depth
        ):
            return row + 1
        at = past
    return _goes_on(outer, depth, data) if "python" in language.outline else None


def runs_from(
    outer: Node, name_row: int, name_byte: int, data: bytes, broken: Broken, language: Language
) -> int | None:
    """Return a definition's 1-based first line if the lines above its name may not belong to it.

    Shape: None if there is no fault between its start and its name, and no word before it on its
    line.
    """
    first, row = outer.start_byte, outer.start_point.row
    line_start = data.rfind(b"\n", 0, first) + 1
    if not broken:
        return None
    if _WORD_BEFORE.search(data[line_start:first]) and broken.is_around(outer):
        return row + 1
    if row == name_row or not broken.is_between(first, name_byte):
        return None
    *above, last = data[line_start:name_byte].split(b"\n")
    if not _is_another(last + b"_", _depth(above[0])):
        return None
    # In C a head may span several lines, with macros that the grammar does not know.
    is_head = language.id in ("c", "cpp") and not any(map(_ENDED.search, above))
    return None if is_head else row + 1


def _goes_on(outer: Node, depth: int, data: bytes) -> int | None:
    """Return the line of the next code after a Python definition, if deeper than its head."""
    at = data.find(b"\n", outer.end_byte)
    row = outer.end_point.row + 1
    while at >= 0:
        row += 1
        past = data.find(b"\n", at + 1)
        line = data[at + 1 : past if past >= 0 else len(data)]
        if line.strip() and not line.lstrip().startswith(b"#"):
            return row if _depth(line) > depth and not _PARTS.match(line.strip()) else None
        at = past
    return None


def _is_another(line: bytes, depth: int) -> bool:
    bare = line.strip()
    if not bare or _depth(line) > depth:
        return False
    return not _PARTS.match(bare) and not _LABEL.fullmatch(bare)


def _depth(line: bytes) -> int:
    """Return the width of a line's indentation."""
    line = line.removeprefix(b"\xef\xbb\xbf").expandtabs(_TABS)
    return len(line) - len(line.lstrip(b" "))
