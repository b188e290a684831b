"""Java's enums, whose members stand behind a semicolon, and their constants before it. Pure."""

from __future__ import annotations

import re

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language
from agent_ls.tools.symbol_placing import next_code

_CONSTANT = re.compile(
    r"(?:@(?!interface\b)[\w.]+(?:\([^()]*\))?\s*)*([^\W\d][\w$]*)\s*(?:([({,;])|/[/*]|$)"
)
"""How a constant begins; what else there is has its type first, but for the two below."""


def has_two_parts(symbol: Symbol, language: Language) -> bool:
    """Say whether a symbol's body holds a list of constants, and then members."""
    return language.id == "java" and symbol.kind == "enum"


def is_constant(block: str, enum: Symbol, language: Language) -> bool:
    """Say whether new text for an enum is a constant, and none of its other members."""
    match = _CONSTANT.match(block, next_code(block, 0, language))
    if match is None:
        return False
    name, mark = match.groups()
    is_constructor = name == enum.name and mark is not None and mark in "({"
    return name != "static" and not is_constructor


def with_list_ended(text: str, start: int, last: Symbol | None, language: Language) -> str:
    """Return the text of an enum with a semicolon behind its constants, of which ``last`` is one.

    Shape: ``start`` is where its body begins.
    """
    end = start + 1 if last is None else last.end
    at = next_code(text, end, language)
    if text[at : at + 1] == ",":
        end = at + 1
        at = next_code(text, end, language)
    return text if text[at : at + 1] == ";" else f"{text[:end]};{text[end:]}"
