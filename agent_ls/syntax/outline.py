"""The outline of one text: its symbols, in code points.

A symbol includes the decorators, attributes and comments directly above it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.definitions import Found, definitions, signature
from agent_ls.syntax.languages import Language
from agent_ls.syntax.leading import Leading
from agent_ls.syntax.offsets import Offsets
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


def has_outline(language: Language | None) -> bool:
    """Tell whether texts of this language have outlines."""
    return language is not None and bool(language.outline)


def outline_of(
    text: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> list[Symbol] | None:
    """Return the symbols of a text, outermost first; None if it cannot be parsed."""
    data = text.encode("utf-8", "surrogatepass")
    language, tree = parsed(data, language, max_bytes=max_bytes)
    if tree is None or not language.outline:
        return None
    found = definitions(tree, data, language)
    whole = _Text(data, Offsets(data), Leading(tree, data, language))
    return [_symbol(one, whole) for one in found]


@dataclass(frozen=True, slots=True)
class _Text:
    """The shared inputs for all symbols of a text."""

    data: bytes
    offsets: Offsets
    leading: Leading


def _symbol(one: Found, text: _Text) -> Symbol:
    data, offsets, outer = text.data, text.offsets, _wrapped(one.node)
    start = text.leading.above(outer)
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
        signature=signature(one, data),
    )


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
