"""Which lines of a text lie inside strings, where indentation is content."""

from __future__ import annotations

from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import MAX_PARSED_BYTES, Node, parse, walk

_STRINGS = ("string", "heredoc", "template_string")


def rows_in_strings(
    text: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> set[int]:
    """Return the rows that begin inside a string; a docstring's do not count."""
    if "\n" not in text:
        return set()
    tree = parse(text.encode("utf-8", "surrogatepass"), language, max_bytes=max_bytes)
    found: set[int] = set()
    for node in walk(tree.root_node) if tree else ():
        first, last = node.start_point.row, node.end_point.row
        if first < last and _is_string(node) and not _is_statement(node.parent):
            found.update(range(first + 1, last + 1))
    return found


def _is_string(node: Node | None) -> bool:
    return node is not None and any(word in node.type for word in _STRINGS)


def _is_statement(parent: Node | None) -> bool:
    """Say whether what stands in it is a docstring, or part of a string that counts already."""
    return _is_string(parent) or (
        parent is not None and parent.type in ("expression_statement", "block", "module")
    )
