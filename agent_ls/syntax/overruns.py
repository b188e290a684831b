"""Definitions that a syntax error lets run over what follows them, as with a missing bracket, or
over what is above them, or end too early.

Owns the guess where such a definition would have ended: at the first line that is no deeper than
the one it begins on, and looks like neither its end nor a part of it; also one in a string, since a
missing quote may be what makes it a part of one.
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
"""How a line begins that may stand level with a definition's first one and belong to it."""
_NO_CODE = re.compile(rb"[)\]};,#]|//|/\*")
"""How what may follow on a definition's last line begins."""
_ENDED = re.compile(rb"^\s*$|[;}]\s*$|\*/\s*$|^\s*(?://|#)")
"""How a line ends, or is, that is not in the middle of a declaration of C."""
_WORD_BEFORE = re.compile(rb"\w[ \t]*$")
_LABEL = re.compile(rb"\w+\s*:")


class Broken:
    """Where a tree has an error, or lacks something."""

    def __init__(self, root: Node) -> None:
        """Find the nodes that have it right inside."""
        found, self._missing, faults = _broken_spans(root)
        spans = sorted(found)
        self._faults = sorted(faults)
        self._starts = [start for start, _ in spans]
        # The furthest end of those that begin until there.
        self._ends = [*accumulate((end for _, end in spans), max)]

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return bool(self._starts)

    def is_between(self, start: int, end: int) -> bool:
        """Say whether an error begins, or something is missing, in a part of the text."""
        at = bisect_left(self._faults, start)
        return at < len(self._faults) and self._faults[at] < end

    def is_around(self, node: Node) -> bool:
        """Say whether a node without errors of its own stands in something broken."""
        before = bisect_right(self._starts, node.start_byte)
        return before > 0 and self._ends[before - 1] >= node.end_byte

    def lacks_end(self, node: Node, data: bytes) -> bool:
        """Say whether something is missing where the node ends, or right before it, in a line that
        goes on with code: then part of the line is taken for another definition.
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
    """Return where the nodes are that have an error, or something missing, right inside; where
    what is missing should be; and where that and the errors begin.
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
    """Return the 1-based line at which something else seems to begin inside of a definition.

    Shape: the line it ends on where its last sign is missing there, and in Python the next one
    where that is deeper; None for one that has no syntax errors and stands in nothing that lacks
    its end, so that it ends where it says.
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
    """Return the 1-based line, from a definition's first one on, that may be no part of it.

    Shape: None where no error is between its begin and its name, nor a word before it on its line.
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
    # There a head may have its words in several lines, macros that no grammar knows among them.
    is_head = language.id in ("c", "cpp") and not any(map(_ENDED.search, above))
    return None if is_head else row + 1


def _goes_on(outer: Node, depth: int, data: bytes) -> int | None:
    """Return the line behind a definition whose lines say by their depth what is in it, if it is
    deeper than that begins.
    """
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
    """Return the width of what a line begins with."""
    line = line.removeprefix(b"\xef\xbb\xbf").expandtabs(_TABS)
    return len(line) - len(line.lstrip(b" "))
