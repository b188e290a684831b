"""Definitions that a syntax error lets run over what follows them, as with a missing bracket.

Owns the guess where such a definition would have ended: at the first line that is no deeper than
the one it begins on, and looks like neither its end nor a part of it.
"""

from __future__ import annotations

import re

from tree_sitter import Node

_TABS = 8
_PARTS = re.compile(
    rb"[)\]}{]|//|/\*|\*|<!--|#\s*(?:if|ifdef|ifndef|else|elif|endif|pragma|error|warning|line)\b"
    rb"|(?:else|elif|except|finally|catch|where|throws|extends|implements|permits|requires)\b"
    rb"|(?:public|private|protected|default)\s*:"
)
"""How a line begins that may stand level with a definition's first one and belong to it."""
_LABEL = re.compile(rb"\w+\s*:")


def broken_nodes(root: Node) -> frozenset[int]:
    """Return the ids of the nodes that have an error, or something missing, right inside."""
    found: set[int] = set()
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_error:
            found.add(node.id)
        for child in node.children:
            if child.is_error or child.is_missing:
                found.add(node.id)
            elif child.has_error:
                stack.append(child)
    return frozenset(found)


def runs_into(outer: Node, name_row: int, data: bytes, broken: frozenset[int]) -> int | None:
    """Return the 1-based line at which something else seems to begin inside of a definition.

    Shape: None for one that has no syntax errors and stands in nothing that lacks its end, so that
    it ends where it says; ``broken`` is what ``broken_nodes`` says of the tree.
    """
    if not broken or not (outer.has_error or _stands_in(outer, broken)):
        return None
    first = outer.start_byte
    line_start = data.rfind(b"\n", 0, first) + 1
    depth = _depth(data[line_start:first])
    at = data.find(b"\n", first, outer.end_byte)
    row = outer.start_point.row
    while at >= 0:
        row += 1
        past = data.find(b"\n", at + 1, outer.end_byte)
        line = data[at + 1 : past if past >= 0 else outer.end_byte]
        at = past
        if row > name_row and _is_another(line, depth):
            return row + 1
    return None


def _stands_in(node: Node, broken: frozenset[int]) -> bool:
    up = node.parent
    while up is not None and up.id not in broken:
        up = up.parent
    return up is not None


def _is_another(line: bytes, depth: int) -> bool:
    bare = line.strip()
    if not bare or _depth(line) > depth:
        return False
    return not _PARTS.match(bare) and not _LABEL.fullmatch(bare)


def _depth(line: bytes) -> int:
    """Return the width of what a line begins with."""
    line = line.removeprefix(b"\xef\xbb\xbf").expandtabs(_TABS)
    return len(line) - len(line.lstrip(b" "))
