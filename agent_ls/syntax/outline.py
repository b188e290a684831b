"""The outline of one text: its symbols, in code points.

A symbol includes the decorators, attributes and comments directly above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.definitions import Found, definitions, signature
from agent_ls.syntax.languages import Language
from agent_ls.syntax.leading import Leading
from agent_ls.syntax.offsets import Offsets
from agent_ls.syntax.overruns import Broken, runs_from, runs_into
from agent_ls.syntax.parsing import MAX_PARSED_BYTES
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
"""Nodes around exactly one definition, which belong to it."""
_GROUPS = frozenset(
    {
        "const_declaration",
        "lexical_declaration",
        "type_declaration",
        "var_declaration",
        "variable_declaration",
    }
)
"""Nodes around one or more definitions, in Go maybe in parentheses."""
_LISTED = frozenset({"key", "member"})


def has_outline(language: Language | None) -> bool:
    """Tell whether texts of this language have outlines."""
    return language is not None and bool(language.outline)


def outline_of(
    text: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> tuple[Language, list[Symbol] | None]:
    """Return the language of a text and its symbols, outermost first; None if unparsable.

    The language differs from the given one for a C header that is C++.
    """
    data = text.encode("utf-8", "surrogatepass")
    language, tree = parsed(data, language, max_bytes=max_bytes)
    if tree is None or not language.outline:
        return language, None
    found = definitions(tree, data, language)
    offsets = Offsets(data)
    outer = [_wrapped(one.node) for one in found]
    beside: dict[int, list[Found]] = {}
    for one, node in zip(found, outer, strict=True):
        beside.setdefault(node.id, []).append(one)
    whole = _Text(data, language, offsets, Leading(tree, data, language), Broken(tree.root_node))
    return language, [
        _symbol(one, node, [other for other in beside[node.id] if other is not one], whole)
        for one, node in zip(found, outer, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Text:
    """The shared inputs for all symbols of a text."""

    data: bytes
    language: Language
    offsets: Offsets
    leading: Leading
    broken: Broken


def _symbol(one: Found, outer: Node, beside: Sequence[Found], text: _Text) -> Symbol:
    data, offsets, up = text.data, text.offsets, one.node.parent
    start, own_start = text.leading.above(outer)
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
        runs_from=runs_from(outer, one.name_row, one.name_byte, data, text.broken, text.language),
        shared=tuple(other.qualified for other in beside),
        is_listed=one.kind in _LISTED or (up is not None and up.type == "object"),
    )


def _body(node: Node | None, offsets: Offsets) -> tuple[int, int] | None:
    """Return the span of a body, from its opening brace."""
    if node is None:
        return None
    # In Go interfaces the node of the body begins before the brace.
    ending = _ending(node)
    brace = next((one for one in node.children if one.type == "{"), None)
    start = brace.start_byte if brace is not None and ending.type == "}" else node.start_byte
    return offsets.point(start), offsets.point(ending.end_byte)


def _ending(node: Node) -> Node:
    """Return the last node in this one, without comments after a closing brace.

    JavaScript's grammars include such comments where a semicolon may be omitted.
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
    """Return the node with its wrappers, such as decorators, ``export`` or a shared declaration."""
    while (parent := node.parent) is not None:
        is_around = parent.type in _WRAPPERS or (
            # In parentheses each definition has its own lines.
            parent.type in _GROUPS and all(one.type != "(" for one in parent.children)
        )
        if not is_around:
            break
        node = parent
    return node


def _end(end: int, data: bytes) -> int:
    """Return the end, including a semicolon that follows on the same line."""
    at = end
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    return at + 1 if data[at : at + 1] == b";" else end
