"""Find syntax errors that an edit introduced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tree_sitter import Node

from agent_ls.domain.symbols import Fault
from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import MAX_PARSED_BYTES, Tree, fault_nodes, parse
from agent_ls.syntax.strings import COMMENTS

_MAX_LINE_CHARS = 120


def new_faults(
    before: str, after: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> list[Fault]:
    """Return the faults of ``after`` that ``before`` did not have, in order.

    Shape: none without a grammar or above the size limit. If ``before`` was broken too, only faults
    in changed lines count, since elsewhere the parser may just recover differently.
    """
    data = after.encode("utf-8", "surrogatepass")
    # Parse both in the same language, else they cannot be compared.
    language, tree = parsed(data, language, max_bytes=max_bytes)
    found = _faults(tree, data, language)
    if not found:
        return []
    data = before.encode("utf-8", "surrogatepass")
    old = _faults(parse(data, language, max_bytes=max_bytes), data, language)
    first, past = _changed_rows(before, after)
    # Stripped once: a line of a minified file may have thousands of faults.
    olds, lines = ([line.strip() for line in text.split("\n")] for text in (before, after))
    known = Counter((one.type, _line(olds, one.start_point.row)) for one in old)
    told: dict[int, Fault] = {}
    for node in found:
        key = node.type, _line(lines, node.start_point.row)
        if known[key] > 0:
            known[key] -= 1
            continue
        start, end = node.start_point.row, node.end_point.row
        if old and (end < first or start >= past):
            continue
        row = min(max(first, start), end)
        while row < end and row < len(lines) and not lines[row]:
            row += 1
        told.setdefault(row, Fault(row + 1, _said(node, lines, row)))
    return [told[row] for row in sorted(told)]


def _faults(tree: Tree | None, data: bytes, language: Language) -> list[Node]:
    """Return the outermost error and missing nodes, without commas that JSONC allows."""
    if tree is None:
        return []
    allows_last_comma = language.id == "jsonc"
    return [
        node
        for node in fault_nodes(tree.root_node)
        if not (allows_last_comma and _is_last_comma(node, data))
    ]


def _is_last_comma(node: Node, data: bytes) -> bool:
    """Tell whether this is a trailing comma, which JSON with comments allows."""
    if data[node.start_byte : node.end_byte] != b",":
        return False
    before, behind = node.prev_sibling, node.next_sibling
    while behind is not None and behind.type in COMMENTS:
        behind = behind.next_sibling
    return (
        before is not None
        and behind is not None
        and before.type not in ("{", "[")
        and behind.type in ("}", "]")
    )


def _line(lines: Sequence[str], row: int) -> str:
    return lines[row] if row < len(lines) else ""


def _said(node: Node, lines: Sequence[str], row: int) -> str:
    line = _line(lines, row)[:_MAX_LINE_CHARS]
    return f"{line}  ({node.type!r} is missing)" if node.is_missing else line


def _changed_rows(before: str, after: str) -> tuple[int, int]:
    """Return the first changed row of ``after`` and the row past the last."""
    old, new = before.split("\n"), after.split("\n")
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    # If lines were only removed, the row after them counts as changed.
    return first, max(len(new) - last, first + 1)
