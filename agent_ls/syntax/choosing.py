"""Choose between two languages when the file name is ambiguous, as with ``.h``.

The language of the name wins, with two exceptions: a line occurs that only the other language
has, or the text parses much better in the other language.
"""

from __future__ import annotations

import re
from functools import cache

from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.parsing import MAX_PARSED_BYTES, Tree, fault_nodes, parse
from agent_ls.syntax.strings import COMMENTS, is_string

_NO_SIGN_IN = COMMENTS | {"preproc_arg"}
_CLEARLY = 2
"""Without such a line, the other language needs more than this many times fewer faults."""


def parsed(
    data: bytes, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> tuple[Language, Tree | None]:
    """Return the language of a UTF-8 text, and its tree as ``parse`` returns it.

    Parses at most twice; once if the name is unambiguous.
    """
    if language.instead is None:
        return language, parse(data, language, max_bytes=max_bytes)
    other_id, signs = language.instead
    other = language_of(other_id)
    tried = None
    if other is not None and _sign(signs).search(data):
        tried = parse(data, other, max_bytes=max_bytes)
    tree = None
    if other is not None and tried is not None and _has_sign(data, tried, signs):
        if tried.root_node.has_error:
            tree = parse(data, language, max_bytes=max_bytes)
        # If it parses only in the named language, it is that, whatever its lines look like.
        if tree is None or tree.root_node.has_error:
            return other, tried
        return language, tree
    tree = parse(data, language, max_bytes=max_bytes)
    if other is None or tree is None or not tree.root_node.has_error:
        return language, tree
    tried = tried or parse(data, other, max_bytes=max_bytes)
    if tried is not None and _is_clearer(tried, tree):
        return other, tried
    return language, tree


@cache
def _sign(signs: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(rf"^[ \t]*(?:{'|'.join(signs)})".encode(), re.MULTILINE)


def _has_sign(data: bytes, tree: Tree, signs: tuple[str, ...]) -> bool:
    """Tell whether a line that only the other language has occurs outside strings and comments."""
    for match in _sign(signs).finditer(data):
        at = match.end() - 1
        node = tree.root_node.descendant_for_byte_range(at, at + 1)
        if node is None or not (node.type in _NO_SIGN_IN or is_string(node)):
            return True
    return False


def _is_clearer(tried: Tree, tree: Tree) -> bool:
    """Tell whether ``tried`` has far fewer faults than ``tree``."""
    few, many = [*fault_nodes(tried.root_node)], [*fault_nodes(tree.root_node)]
    few_bytes, many_bytes = (
        sum(one.end_byte - one.start_byte for one in each) for each in (few, many)
    )
    return _CLEARLY * len(few) < len(many) and few_bytes <= many_bytes
