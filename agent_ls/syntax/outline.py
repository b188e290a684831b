"""The outline of one text: its symbols with what belongs to each, in code points.

Decorators, attributes and the comment right above a definition belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.definitions import Found, definitions, signature
from agent_ls.syntax.languages import Language
from agent_ls.syntax.offsets import Offsets
from agent_ls.syntax.overruns import broken_nodes, runs_into
from agent_ls.syntax.parsing import MAX_PARSED_BYTES, parse
from agent_ls.syntax.strings import COMMENTS

_WRAPPERS = frozenset(
    {
        "ambient_declaration",
        "declaration_command",
        "decorated_definition",
        "export_statement",
        "template_declaration",
    }
)
"""Nodes around one definition, which belong to it."""
_GROUPS = frozenset(
    {
        "const_declaration",
        "lexical_declaration",
        "type_declaration",
        "var_declaration",
        "variable_declaration",
    }
)
"""Nodes around one or several definitions, which in Go may stand in parentheses."""
_LEADING = COMMENTS | {"attribute_item", "attribute_declaration", "decorator"}
_LISTED = frozenset({"key", "member"})
_BLANKS = b" \t\r\n\xef\xbb\xbf"


def has_outline(language: Language | None) -> bool:
    """Say whether texts of this language have symbols."""
    return language is not None and bool(language.outline)


def outline_of(
    text: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> list[Symbol] | None:
    """Return the symbols of a text, outermost first; None when it cannot be parsed here."""
    data = text.encode("utf-8", "surrogatepass")
    tree = parse(data, language, max_bytes=max_bytes)
    if tree is None or not language.outline:
        return None
    found = definitions(tree, data, language)
    offsets = Offsets(data)
    outer = [_wrapped(one.node) for one in found]
    beside: dict[int, list[Found]] = {}
    for one, node in zip(found, outer, strict=True):
        beside.setdefault(node.id, []).append(one)
    whole = _Text(tree.root_node, data, language, offsets, broken_nodes(tree.root_node))
    return [
        _symbol(one, node, [other for other in beside[node.id] if other is not one], whole)
        for one, node in zip(found, outer, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    """What all symbols of a text are made of."""

    root: Node
    data: bytes
    language: Language
    offsets: Offsets
    broken: frozenset[int]


def _symbol(one: Found, outer: Node, beside: Sequence[Found], text: _Text) -> Symbol:
    data, offsets, up = text.data, text.offsets, one.node.parent
    start, own_start = _leading(outer, text.root, data)
    ending = _ending(outer)
    end = ending.end_byte if one.kind == "member" else _end(ending.end_byte, data)
    last = data[:end].rstrip() if ending.end_point.column == 0 else b""
    return Symbol(
        name=one.name,
        qualified=one.qualified,
        kind=one.kind,
        depth=one.depth,
        line=one.name_row + 1,
        last_line=last.count(b"\n") + 1 if last else ending.end_point.row + 1,
        first_line=outer.start_point.row + 1 - data.count(b"\n", start, outer.start_byte),
        start=offsets.point(start),
        end=offsets.point(len(last) if last else end),
        own_start=offsets.point(own_start),
        body=_body(one.body, offsets),
        signature=signature(one, data),
        runs_into=runs_into(outer, one.name_row, data, text.broken, text.language),
        shared=tuple(other.qualified for other in beside),
        is_listed=one.kind in _LISTED or (up is not None and up.type == "object"),
    )


def _body(node: Node | None, offsets: Offsets) -> tuple[int, int] | None:
    """Return where a body is, from its brace on."""
    if node is None:
        return None
    # Go's interfaces have no node for what is in their braces.
    ending = _ending(node)
    brace = next((one for one in node.children if one.type == "{"), None)
    start = brace.start_byte if brace is not None and ending.type == "}" else node.start_byte
    return offsets.point(start), offsets.point(ending.end_byte)


def _ending(node: Node) -> Node:
    """Return the last node in this one, without comments behind a brace.

    Shape: where a semicolon may be left out, JavaScript's grammars take those in.
    """
    while node.children:
        last = node.children[-1]
        if last.type in COMMENTS:
            own = next((one for one in reversed(node.children) if one.type not in COMMENTS), last)
            return own if own.type == "}" else node
        if last.end_byte != node.end_byte:
            break
        node = last
    return node


def _wrapped(node: Node) -> Node:
    """Return the definition with what is written around it, and around what is beside it there."""
    while (parent := node.parent) is not None:
        is_around = parent.type in _WRAPPERS or (
            # In parentheses each has lines of its own, be it the only one.
            parent.type in _GROUPS and all(one.type != "(" for one in parent.children)
        )
        if not is_around:
            break
        node = parent
    return node


def _leading(outer: Node, root: Node, data: bytes) -> tuple[int, int]:
    """Return where what stands right above begins, and where it goes on behind comments."""
    start = outer.start_byte
    parts: list[tuple[int, bool]] = []
    while (one := _right_before(start, outer, root, data)) is not None:
        start = one.start_byte
        parts.append((start, one.type in COMMENTS))
    own_start = outer.start_byte
    for begin, is_comment in parts:
        if not is_comment:
            own_start = begin
    # Comments between attributes stay where they are.
    return start, own_start


def _right_before(start: int, outer: Node, root: Node, data: bytes) -> Node | None:
    """Return the comment or decorator that ends on this or the line before; None without one."""
    at = start
    while at and data[at - 1] in _BLANKS:
        at -= 1
    if not at or data.count(b"\n", at, start) > 1:
        return None
    node = _leading_at(at, root)
    if node is None or node.end_byte > start or node.id == outer.id:
        return None
    begin = node.start_byte
    if node.type in COMMENTS and (
        _margin(data, begin, root) != _margin(data, start, root) or _is_the_files(data, begin)
    ):
        # It goes on with something else, or belongs to what is before it on its line.
        return None
    return node


def _leading_at(end: int, root: Node) -> Node | None:
    """Return the comment or decorator that the byte before the place is a part of."""
    node = root.descendant_for_byte_range(end - 1, end)
    while node is not None and node.type not in _LEADING:
        node = node.parent
    return node


def _margin(data: bytes, at: int, root: Node) -> bytes:
    """Return what stands before the place on its line, without comments and decorators."""
    line_start = data.rfind(b"\n", 0, at) + 1
    line = data[line_start:at].removeprefix(b"\xef\xbb\xbf")
    lead = line[: len(line) - len(line.lstrip(b" \t"))]
    while data[line_start:at].strip(_BLANKS):
        end = line_start + len(data[line_start:at].rstrip(_BLANKS))
        node = _leading_at(end, root)
        if node is None or node.end_byte > end or node.start_byte < line_start:
            # Code before it: then this is no margin.
            return line
        at = node.start_byte
    return lead


def _is_the_files(data: bytes, begin: int) -> bool:
    """Say whether a comment is about the whole file."""
    return data.startswith((b"//!", b"/*!"), begin) or (
        data.startswith(b"#!", begin) and not data[:begin].strip(_BLANKS)
    )


def _end(end: int, data: bytes) -> int:
    """Return the end, with a semicolon that follows on the same line."""
    at = end
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    return at + 1 if data[at : at + 1] == b";" else end
