"""Reads a word of a shell text from its node: without quotes, unknown text marked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from agent_ls.safety.text import words
from agent_ls.syntax.parsing import Node

UNKNOWN = "\0"
"""Placeholder in a word for text that only the running shell knows."""

_EXPANSIONS = words(
    """
    expansion command_substitution arithmetic_expansion process_substitution brace_expression
    """
)
_WORDS = words("word concatenation string raw_string ansi_c_string translated_string")
_PARENTS = _WORDS | words("command declaration_command unset_command")
_SUBSCRIPT = re.compile(r"\w\[")
_TAKE_VARIABLES = words(
    """
    printf test wait read unset let declare typeset local export readonly mapfile readarray getopts
    """
)
"""Builtins of which a word may name a variable; the shell runs what stands in its subscript."""


def word_of(node: Node, values: Mapping[str, str]) -> str:
    """Return a word without its quotes."""
    match node.type:
        case "raw_string":
            return text_of(node)[1:-1]
        case "ansi_c_string":
            inner = text_of(node)[2:-1]
            with suppress(ValueError):
                return inner.encode("latin-1").decode("unicode_escape")
            return UNKNOWN
        case "string" | "concatenation" | "translated_string":
            return _joined(node, values)
        case "simple_expansion":
            return values.get(text_of(node)[1:], UNKNOWN)
        case "expansion" if re.fullmatch(r"\$\{\w+\}", text_of(node)):
            return values.get(text_of(node)[2:-1], UNKNOWN)
        case one if one in _EXPANSIONS:
            return UNKNOWN
        case _:
            if node.named_children and node.type != "word":
                return _joined(node, values)
            return re.sub(r"\\(\n|.)", lambda one: one[1].strip("\n"), text_of(node))


def _joined(node: Node, values: Mapping[str, str]) -> str:
    """Return the text of a word that has parts; between them stands what is no part."""
    data, at = node.text or b"", node.start_byte
    found = list[str]()
    for child in node.named_children:
        found.append(_between(data[at - node.start_byte : child.start_byte - node.start_byte]))
        is_text = child.type == "string_content"
        found.append(_between(child.text or b"") if is_text else word_of(child, values))
        at = child.end_byte
    found.append(_between(data[at - node.start_byte :]))
    return "".join(found)


def _between(data: bytes) -> str:
    """Return the text between the parts of a word: quotes are gone, escapes are read."""
    text = data.decode("utf-8", "replace").removeprefix("$")
    return re.sub(r'\\([\"\\$`\n])|"', lambda one: (one[1] or "").strip("\n"), text)


def text_of(node: Node) -> str:
    """Return the text of a node as written."""
    return (node.text or b"").decode("utf-8", "replace")


def takes_program(written: Sequence[str]) -> bool:
    """Say whether a builtin takes a name with a program in its subscript: ``test -v 'a[$(x)]'``."""
    return bool(_TAKE_VARIABLES & set(written)) and any(map(_runs_subscript, written))


def hides_program(node: Node, values: Mapping[str, str], above: Node | None) -> bool:
    """Say whether a word outside of commands, such as in ``[[ ]]``, holds such a name.

    ``above`` is the parent of its node.
    """
    if node.type not in _WORDS or (above is not None and above.type in _PARENTS):
        return False
    return _runs_subscript(word_of(node, values))


def _runs_subscript(word: str) -> bool:
    """Say whether a line of a word begins a subscript, and a program stands behind that."""
    for line in word.split("\n"):
        start = _SUBSCRIPT.search(line)
        if start and ("$(" in line[start.end() :] or "`" in line[start.end() :]):
            return True
    return False
