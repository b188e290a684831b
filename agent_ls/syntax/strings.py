"""Tell strings and comments in a tree."""

from __future__ import annotations

from agent_ls.syntax.parsing import Node

COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_STRINGS = ("string", "heredoc", "template_string")
_SEVERAL = "concatenated_string"
"""Adjacent strings; between them is code."""


def is_string(node: Node | None) -> bool:
    """Tell whether a node is a string or a part of one."""
    if node is None or node.type == _SEVERAL:
        return False
    return any(word in node.type for word in _STRINGS)
