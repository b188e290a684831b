"""How a piece of code ends: where the comments behind it begin."""

from __future__ import annotations

from agent_ls.syntax.languages import Language
from agent_ls.syntax.outline import COMMENTS
from agent_ls.syntax.parsing import parse


def code_end(text: str, language: Language) -> int:
    """Return where the code of a text ends: before the blanks and comments that end it.

    Shape: code points; 0 for nothing but comments, the whole length without a grammar.
    """
    data = text.encode("utf-8", "surrogatepass")
    tree = parse(data, language)
    end = len(data)
    while tree and (end := len(data[:end].rstrip())):
        node = tree.root_node.descendant_for_byte_range(end - 1, end)
        while node is not None and node.type not in COMMENTS:
            node = node.parent
        if node is None or node.end_byte < end:
            break
        end = node.start_byte
    return len(data[:end].decode("utf-8", "surrogatepass"))
