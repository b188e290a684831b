"""Find a tree's definitions with the queries in ``grammars``: names, kinds, nesting.

Turns captures into definitions, in bytes; ``outline`` turns these into symbols.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

from tree_sitter import Node, Query, QueryCursor, Tree

from agent_ls.syntax.data import read_data
from agent_ls.syntax.languages import Language, languages
from agent_ls.syntax.parsing import grammar_of

_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "namespace_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
        "operator_cast",
        "template_function",
    }
)
"""Nodes at which the descent into a C declarator ends."""
_POINTERS = frozenset({"pointer_declarator", "reference_declarator"})
_HOLDERS = frozenset({"class", "struct", "interface", "trait", "impl", "enum"})
"""A function inside one of these is a method."""
_queries: dict[tuple[str, str], Query] = {}
_GENERICS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_ANNOTATIONS = re.compile(r"^(?:@[\w.:]+(?:\([^()]*\))?\s+|\[\[[^\]]*\]\]\s*)+")
_COMMENT = re.compile(r":\s*#.*")
"""A comment between the head of a Python block and its first statement."""
_SYMBOL = "symbol."
_END_MARKS = ("{", "=>", "=", ":", ",", ";", "\\")
_MAX_SIGNATURE_CHARS = 160
_MAX_DEPTH = 200
"""Deeper definitions are left out: each qualified name includes all enclosing names."""


@dataclass(slots=True)
class Found:
    """One definition, with offsets in bytes."""

    node: Node
    name: str
    scope: str
    kind: str
    name_row: int
    name_byte: int
    body: Node | None
    qualified: str = ""
    depth: int = 0


def query_of(language: Language) -> Query | None:
    """Return the query for the language's definitions; None without a grammar or a query."""
    grammar = grammar_of(language)
    if grammar is None or not language.outline:
        return None
    # Each grammar has one query; this key is cheaper to hash than the whole Language.
    key = (language.wheel, language.function)
    if key not in _queries:
        source = "\n".join(read_data(f"{folder}/outline.scm") for folder in language.outline)
        _queries[key] = Query(grammar, source)
    return _queries[key]


@cache
def made_by() -> str:
    """Return a digest of everything that affects which definitions are found.

    That is the queries and the rules for ambiguous file names.
    """
    sources = {
        folder: read_data(f"{folder}/outline.scm")
        for language in languages()
        for folder in language.outline
    }
    parts = [sources[one] for one in sorted(sources)]
    parts += [str(one.or_else) for one in languages() if one.or_else]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def definitions(tree: Tree, data: bytes, language: Language) -> list[Found]:
    """Return the definitions of the text, outermost first, in the order of the text."""
    query = query_of(language)
    if query is None:
        return []
    best: dict[tuple[int, int, int], tuple[int, Found]] = {}
    for pattern, captures in QueryCursor(query).matches(tree.root_node):
        found = _found(captures, data)
        if found is not None:
            # The position of the name distinguishes several definitions of one node.
            key = (found.node.start_byte, -found.node.end_byte, found.name_byte)
            known = best.get(key)
            if known is None or pattern < known[0]:
                best[key] = (pattern, found)
    return _nested([best[key][1] for key in sorted(best)])


def _found(captures: dict[str, list[Node]], data: bytes) -> Found | None:
    """Return the definition of a match; None for a declarator without a name."""
    capture = next(name for name in captures if name.startswith(_SYMBOL))
    kind, node = capture[len(_SYMBOL) :], captures[capture][0]
    if "declarator" in captures:
        named = _declared(captures["declarator"][0])
        if named is None:
            return None
        name_node, is_function = named
        if is_function:
            kind = {"variable": "function", "field": "method"}.get(kind, kind)
        elif kind == "function":
            return None
    else:
        name_node = captures["name"][0]
    text = _text(data, name_node)
    if name_node.type == "operator_cast":
        text = text.partition("(")[0].strip()
    scope = _plain(_text(data, captures["scope"][0])) if "scope" in captures else ""
    if kind == "impl":
        trait = node.child_by_field_name("trait")
        scope, text = "", f"{_text(data, trait)} for {text}" if trait else text
    elif "::" in text:
        *outer, text = _GENERICS.sub("", text).split("::")
        scope = ".".join(part for part in outer if part)
        while (inner := name_node.child_by_field_name("name")) is not None:
            name_node = inner
    bodies = captures.get("body")
    return Found(
        node,
        text.strip("\"'"),
        scope,
        kind,
        name_node.start_point.row,
        name_node.start_byte,
        bodies[0] if bodies else None,
    )


def _declared(node: Node) -> tuple[Node, bool] | None:
    """Return the name node in a C declarator, and whether it declares a function."""
    is_function = False
    while node.type not in _NAMES:
        if node.type == "function_declarator":
            is_function = True
        elif node.type in _POINTERS:
            is_function = False
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (
                    one
                    for one in node.named_children
                    if one.type in _NAMES or one.type.endswith("declarator")
                ),
                None,
            )
        if inner is None:
            return None
        node = inner
    return node, is_function or node.type == "operator_cast"


def _text(data: bytes, node: Node) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _plain(type_text: str) -> str:
    """Return a type's name without pointers and parameters."""
    return _GENERICS.sub("", type_text).strip("*& ")


def _nested(found: list[Found]) -> list[Found]:
    """Set each definition's depth, qualified name and method kind; drop duplicates."""
    kept: list[Found] = []
    above: list[Found] = []
    for one in found:
        while above and above[-1].node.end_byte <= one.node.start_byte:
            above.pop()
        if len(above) > _MAX_DEPTH:
            continue
        # Definitions side by side in one node do not contain each other.
        holder = next((up for up in reversed(above) if up.node.id != one.node.id), None)
        if holder is not None and holder.kind == "type" and holder.name == one.name:
            # A typedef of a struct with the same name is one definition.
            holder.kind, holder.body = one.kind, one.body
            continue
        _place_in(one, holder)
        kept.append(one)
        above.append(one)
    return kept


def _place_in(one: Found, holder: Found | None) -> None:
    own = f"{one.scope}.{one.name}" if one.scope else one.name
    if one.kind == "impl":
        own = _plain(one.name.rpartition(" for ")[2])
    one.depth = 0 if holder is None else holder.depth + 1
    # A name declared by a typedef or a variable declaration is no member of it.
    is_member = holder is not None and not (
        holder.kind == "type" or (holder.kind == "variable" and one.kind in _HOLDERS)
    )
    one.qualified = f"{holder.qualified}.{own}" if holder and is_member else own
    if one.kind == "function" and (one.scope or (holder and holder.kind in _HOLDERS)):
        one.kind = "method"


def signature(one: Found, data: bytes) -> str:
    """Return the declaration on one line, without its body, shortened if long."""
    begin = one.node.start_byte
    line_start = data.rfind(b"\n", 0, begin) + 1
    # Include a prefix such as `export const`, but no other code on the line.
    if not set(data[line_start:begin]) & set(b"{};"):
        begin = line_start
    end = one.node.end_byte if one.body is None else one.body.start_byte
    text = data[begin : min(end, begin + 4 * _MAX_SIGNATURE_CHARS)].decode("utf-8", "replace")
    text = text.lstrip("\ufeff \t\r\n")
    if text[:1] in ("@", "["):
        text = _ANNOTATIONS.sub("", text)
    if one.kind not in ("function", "method", "constructor"):
        text = text.partition("\n")[0]
    text = " ".join(text.split())
    if "#" in text:
        text = _COMMENT.sub("", text)
    if text[-1:] in "{>=:,;\\":
        for end_mark in _END_MARKS:
            text = text.removesuffix(end_mark).rstrip()
    return text if len(text) <= _MAX_SIGNATURE_CHARS else text[: _MAX_SIGNATURE_CHARS - 1] + "…"
