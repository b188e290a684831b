"""Find where the code of a text ends and only comments follow."""

from __future__ import annotations

from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import nodes_at, parse
from agent_ls.syntax.strings import COMMENTS


def code_end(text: str, language: Language) -> int:
    """Return the end of the code in a text, before trailing blanks and comments.

    Shape: in code points; 0 if there are only comments, the whole length without a grammar.
    """
    data = text.encode("utf-8", "surrogatepass")
    tree = parse(data, language)
    end = len(data)
    while tree and (end := len(data[:end].rstrip())):
        around = nodes_at(tree.root_node, end - 1)
        comment = next((one for one in around if one.type in COMMENTS), None)
        if comment is None:
            break
        end = comment.start_byte
    return len(data[:end].decode("utf-8", "surrogatepass"))
