"""Find comments, decorators and attributes directly above a definition, which belong to it.

All are collected once. Tree-sitter nodes do not store their parents, so climbing from each
definition would take time cubic in the nesting depth.
"""

from __future__ import annotations

from tree_sitter import Node, Query, QueryCursor, Tree

from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import grammar_of
from agent_ls.syntax.strings import COMMENTS

_KINDS = COMMENTS | {"attribute_item", "attribute_declaration", "decorator"}
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_queries: dict[tuple[str, str], Query] = {}


class Leading:
    """The comments, decorators and attributes above the definitions of one text."""

    def __init__(self, tree: Tree, data: bytes, language: Language) -> None:
        self._data = data
        self._by_end = _by_end(tree, data, language)

    def above(self, outer: Node) -> int:
        """Return where the leading parts of a definition start."""
        start = outer.start_byte
        while (one := self._right_before(start)) is not None:
            start = one.start_byte
        return start

    def _right_before(self, start: int) -> Node | None:
        """Return the leading node that ends on the same line or the line before, or None."""
        data, at = self._data, start
        while at and data[at - 1] in _BLANKS:
            at -= 1
        if not at or data.count(b"\n", at, start) > 1:
            return None
        node = self._by_end.get(at)
        if node is None or node.end_byte > start:
            return None
        begin = node.start_byte
        if node.type in COMMENTS and (
            self._margin(begin) != self._margin(start) or _is_the_files(data, begin)
        ):
            # It belongs to other code on its line, or is about the whole file.
            return None
        return node

    def _margin(self, at: int) -> bytes:
        """Return the indentation of the line; all of the line before ``at`` if that has code."""
        data = self._data
        line_start = data.rfind(b"\n", 0, at) + 1
        line = data[line_start:at].removeprefix(b"\xef\xbb\xbf")
        lead = line[: len(line) - len(line.lstrip(b" \t"))]
        while data[line_start:at].strip(_BLANKS):
            end = line_start + len(data[line_start:at].rstrip(_BLANKS))
            node = self._by_end.get(end)
            if node is None or node.end_byte > end or node.start_byte < line_start:
                # There is code before it.
                return line
            at = node.start_byte
        return lead


def _by_end(tree: Tree, data: bytes, language: Language) -> dict[int, Node]:
    """Map the end of each leading node, without trailing blanks, to the innermost such node."""
    query = _query_of(language)
    captures = QueryCursor(query).captures(tree.root_node) if query else {}
    found: dict[int, Node] = {}
    for node in captures.get("leading", ()):
        begin, end = node.start_byte, node.end_byte
        while end > begin and data[end - 1] in _BLANKS:
            end -= 1
        known = found.get(end)
        if known is None or known.start_byte <= begin:
            found[end] = node
    return found


def _query_of(language: Language) -> Query | None:
    grammar = grammar_of(language)
    key = (language.wheel, language.function)
    if grammar is not None and key not in _queries:
        kinds = [kind for kind in sorted(_KINDS) if grammar.id_for_node_kind(kind, True)]
        _queries[key] = Query(grammar, f"[{' '.join(f'({kind})' for kind in kinds)}] @leading")
    return _queries.get(key)


def _is_the_files(data: bytes, begin: int) -> bool:
    """Tell whether a comment is about the whole file, as ``//!`` or a shebang."""
    return data.startswith((b"//!", b"/*!"), begin) or (
        data.startswith(b"#!", begin) and not data[:begin].strip(_BLANKS)
    )
