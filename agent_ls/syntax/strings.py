"""Find strings and comments, and the lines inside strings, where indentation is content."""

from __future__ import annotations

from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import Node, parse

COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_STRINGS = ("string", "heredoc", "template_string")
_SEVERAL = "concatenated_string"
"""Adjacent strings; between them is code."""


def rows_in_strings(text: str, language: Language) -> tuple[set[int], set[int]]:
    """Return the rows that begin inside a string, and the rows that begin inside a docstring."""
    strings: set[int] = set()
    docstrings: set[int] = set()
    if "\n" not in text:
        return strings, docstrings
    tree = parse(text.encode("utf-8", "surrogatepass"), language)
    # Pairs of node and parent, because nodes do not store their parents.
    stack: list[tuple[Node, Node | None]] = [(tree.root_node, None)] if tree else []
    while stack:
        node, around = stack.pop()
        first, last = node.start_point.row, node.end_point.row
        if first == last:
            continue
        if is_string(node) and not is_string(around):
            # Only in Python is a string statement documentation.
            is_docstring = language.id == "python" and _is_statement(around)
            rows = docstrings if is_docstring else strings
            rows.update(range(first + 1, last + 1))
        stack.extend((child, node) for child in node.children)
    return strings, docstrings


def is_string(node: Node | None) -> bool:
    """Tell whether a node is a string or a part of one."""
    if node is None or node.type == _SEVERAL:
        return False
    return any(word in node.type for word in _STRINGS)


def _is_statement(node: Node | None) -> bool:
    return node is not None and node.type in ("expression_statement", "block", "module")
