"""How a piece of code ends: where the comments behind it begin, and whether its brace ends it."""

from __future__ import annotations

from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import nodes_at, parse
from agent_ls.syntax.strings import COMMENTS

_ENDED = {
    "c": {"function_definition", "namespace_definition", "linkage_specification"},
    "ecmascript": {
        "abstract_class_declaration",
        "class_declaration",
        "enum_declaration",
        "function_declaration",
        "generator_function_declaration",
        "interface_declaration",
        "internal_module",
        "method_definition",
        "module",
    },
    "java": {
        "annotation_type_declaration",
        "class_declaration",
        "compact_constructor_declaration",
        "constructor_declaration",
        "enum_declaration",
        "interface_declaration",
        "method_declaration",
        "record_declaration",
    },
    "rust": {
        "enum_item",
        "foreign_mod_item",
        "function_item",
        "impl_item",
        "macro_definition",
        "mod_item",
        "struct_item",
        "trait_item",
        "union_item",
    },
}
"""By the folder of a language's queries: the nodes behind whose closing brace no semicolon stands.

In the others a semicolon only parts what stands on one line.
"""
_CLASSES = frozenset({"ecmascript", "java"})
"""Where a member is none outside of a class."""


def code_end(text: str, language: Language) -> int:
    """Return where the code of a text ends: before the blanks and comments that end it.

    Shape: code points; 0 for nothing but comments, the whole length without a grammar.
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


def ends_itself(text: str, language: Language) -> bool:
    """Say whether a text ends with a definition that its closing brace ends, as a function's."""
    kinds = next((_ENDED[one] for one in language.outline if one in _ENDED), None)
    if kinds is None or not text.endswith("}"):
        return False
    if _is_in_one(text, "", language, kinds):
        return True
    return bool(_CLASSES.intersection(language.outline)) and _is_in_one(
        f"class _ {{\n{text}", "\n}", language, kinds
    )


def _is_in_one(text: str, closing: str, language: Language, kinds: set[str]) -> bool:
    """Say whether one of these nodes ends where the text does."""
    end = len(text.encode("utf-8", "surrogatepass"))
    tree = parse((text + closing).encode("utf-8", "surrogatepass"), language)
    if tree is None or (closing and tree.root_node.has_error):
        return False
    around = nodes_at(tree.root_node, end - 1)
    return any(one.end_byte == end and one.type in kinds for one in around)
