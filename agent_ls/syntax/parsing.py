"""Parse with tree-sitter; the only place that loads grammars, each on first use.

The parser holds the GIL, so large texts are not parsed: the caller gets None and searches the text
instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import cache

from tree_sitter import Language as Grammar
from tree_sitter import Node as Node
from tree_sitter import Parser, Query, QueryCursor
from tree_sitter import Tree as Tree

from agent_ls.syntax.data import read_data
from agent_ls.syntax.languages import Language, language_of

MAX_PARSED_BYTES = 500_000
"""About 60 ms of parsing."""


@cache
def _grammar(wheel: str, function: str) -> Grammar | None:
    """Load a grammar; None if its wheel is missing or of an incompatible version."""
    try:
        pointer: object = getattr(importlib.import_module(wheel), function)()
        return Grammar(pointer)
    except (ImportError, AttributeError, ValueError):
        return None


def grammar_of(language: Language) -> Grammar | None:
    """Return the language's grammar; None if it has none or it cannot be loaded."""
    return _grammar(language.wheel, language.function) if language.wheel else None


def parse(data: bytes, language: Language, *, max_bytes: int = MAX_PARSED_BYTES) -> Tree | None:
    """Return the tree of a UTF-8 text, or None without a grammar or above the size limit.

    Never raises: broken text gives a tree with error nodes.
    """
    if len(data) > max_bytes:
        return None
    grammar = grammar_of(language)
    return Parser(grammar).parse(data) if grammar else None


_END_WORD = re.compile(
    rb"((?<!<)<<-?[ \t]*)(?!'[^'\n]*'(?:[\s;|&<>()]|$))(?!\"[^\"\n]*\"(?:[\s;|&<>()]|$))"
    rb"((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;|&<>()'\"\\])+)"
)
"""What ends a here-document, unless it is quoted as a whole."""


def parse_shell(data: bytes) -> Tree | None:
    """Return the tree of a shell text; None if it is too large or there is no bash grammar.

    The grammar and bash differ about an end word that is quoted in part, so it is read without
    its quotes.
    """
    shell = language_of("shellscript")
    return parse(_END_WORD.sub(_unquoted, data), shell) if shell else None


def _unquoted(found: re.Match[bytes]) -> bytes:
    return found[1] + re.sub(rb"['\"\\]", b"", found[2]).ljust(len(found[2]))


@cache
def _shell_commands() -> Query | None:
    shell = language_of("shellscript")
    grammar = _grammar(shell.wheel, shell.function) if shell else None
    return Query(grammar, read_data("bash/commands.scm")) if grammar else None


def shell_captures(node: Node) -> dict[str, list[Node]]:
    """Return the captures of ``bash/commands.scm`` below a node, by capture name."""
    query = _shell_commands()
    return QueryCursor(query).captures(node) if query else {}


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it, parents first.

    Iterative, so that hostile nesting cannot exhaust the stack.
    """
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(one.children))


def fault_nodes(root: Node) -> Iterator[Node]:
    """Yield the outermost error and missing nodes, in the order of the text."""
    stack = [root] if root.has_error else []
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            yield node
        elif node.has_error:
            stack.extend(reversed(node.children))
