"""Checks that the grammar finds the same words in a command as our strict reader.

Owns the list of constructs that a command may hold; ``shell_reading`` reads them.
"""

from __future__ import annotations

from agent_ls.safety.flags import MustAskError
from agent_ls.syntax.parsing import parse_shell, walk

Spans = tuple[tuple[int, int], ...]
"""Where the words of a command, or of a loop's head, begin and end."""

_KNOWN_NODES = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "word", "number", "raw_string",
        "string", "string_content", "concatenation", "redirected_statement", "file_redirect",
        "file_descriptor", "comment", "simple_expansion", "expansion", "variable_name",
        "special_variable_name", "variable_assignment", "subshell", "compound_statement",
        "while_statement", "arithmetic_expansion", "parenthesized_expression",
        "if_statement", "elif_clause", "else_clause", "for_statement", "do_group",
        "negated_command", "command_substitution", "test_command", "unary_expression",
        "binary_expression", "test_operator", "extglob_pattern", "regex",
        "&&", "||", ";", "|", "|&", "\n", '"', ">", ">>", "<", "&>", "&>>", ">&", "$", "${", "!",
        "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "(", ")", "$(", "!=",
        "while", "$((", "))", "+", "-", "*", "**", "/", "%", "<=", ">=", "~",
        "[[", "]]",
        # The grammar splits words at these, the shell does not.
        "{", "}", "[", "]", "==", "=",
    }
)  # fmt: skip
_NO_WORDS = ("comment", "do_group")


def check_against_grammar(command: str, ours: list[Spans]) -> None:
    """Refuse unless the grammar finds the same words in commands, and no other construct."""
    tree = parse_shell(command.encode())
    if tree is None or tree.root_node.has_error:
        raise MustAskError("it does not parse")
    theirs: list[Spans] = []
    for node in walk(tree.root_node):
        if node.is_missing or node.type not in _KNOWN_NODES:
            raise MustAskError(f"it uses {_spoken(node.type)}")
        if node.type in ("command", "for_statement"):
            named = (one for one in node.named_children if one.type not in _NO_WORDS)
            theirs.append(tuple((one.start_byte, one.end_byte) for one in named))
    places = _byte_places(command)
    in_bytes = [tuple((places[start], places[end]) for start, end in spans) for spans in ours]
    if sorted(theirs) != sorted(in_bytes):
        raise MustAskError("it can be read in more than one way")


def _byte_places(text: str) -> list[int] | range:
    """Return the byte offset of each code point, and of the end."""
    if text.isascii():
        return range(len(text) + 1)
    places = [0]
    for character in text:
        places.append(places[-1] + len(character.encode()))
    return places


def _spoken(node_type: str) -> str:
    return f"a {node_type.replace('_', ' ')}" if node_type.isidentifier() else repr(node_type)
