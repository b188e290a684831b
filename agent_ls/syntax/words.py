"""Count how words are used outside strings and comments, and find the occurrences of a name.

Counting needs no parser, so it is cheap for whole repositories. Occurrences are exact, because
they come from the tree.
"""

from __future__ import annotations

import re
from collections import Counter

from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.definitions import definitions
from agent_ls.syntax.languages import Language
from agent_ls.syntax.parsing import MAX_PARSED_BYTES

_patterns: dict[tuple[str, bool], re.Pattern[str]] = {}
_USE = r"((?:\.|::|->)?[^\W\d]\w*(?: ?\()?)"
_USE_WITH_DOTS = r"(\.?[^\W\d]\w*(?: ?\()?)"
_USE_WITH_DOLLARS = r"(\.?(?:[^\W\d]|\$)[\w$]*(?: ?\()?)"
_USES = {
    "ecmascript": _USE_WITH_DOLLARS,
    **dict.fromkeys(("python", "go", "java"), _USE_WITH_DOTS),
}
_MEMBER = re.compile("^(?:::|->)")
_NOT_CODE = ("comment", "string", "heredoc", "char", "text", "content", "regex")


def uses(text: str, language: Language) -> Counter[str]:
    """Count the uses of each word in the code of a text.

    Shape: keys are ``name``, ``name(`` for a call, and ``.name`` or ``.name(`` for a member.
    """
    key = (language.id, text.isascii())
    if key not in _patterns:
        # For an ASCII text, an ASCII pattern is faster.
        flags = re.DOTALL | (re.ASCII if key[1] else 0)
        _patterns[key] = re.compile(_pattern(language), flags)
    pattern = _patterns[key]
    found = Counter(pattern.findall(text))
    del found[""]
    for word in [one for one in found if one[0] in ":-" or " " in one]:
        found[_MEMBER.sub(".", word).replace(" ", "")] += found.pop(word)
    return found


def _pattern(language: Language) -> str:
    """Return a pattern that matches whole comments and strings, and captures words in a group.

    Words come first because they are most frequent; none begins like a comment or a string.
    """
    skipped = [rf"{re.escape(block[0])}.*?{re.escape(block[1])}" for block in language.block]
    skipped += [rf"{re.escape(opener)}[^\n]*" for opener in language.line]
    strings = [(one, one) if isinstance(one, str) else one for one in language.strings]
    skipped += [_string(*one) for one in sorted(strings, key=lambda one: -len(one[0]))]
    use = _USES.get(language.outline[0] if language.outline else "", _USE)
    return "|".join([use, *skipped])


def _string(opener: str, closer: str) -> str:
    """Return a pattern for a string; one with a single quote character ends on its line."""
    last = re.escape(closer[0])
    plain = rf"[^{last}\\]" if len(opener) > 1 or opener == "`" else rf"[^{last}\\\n]"
    inner = [r"\\."]
    if len(closer) > 1:
        inner.append(rf"{last}(?!{re.escape(closer[1:])})")
    odd = "|".join(inner)
    return rf"{re.escape(opener)}{plain}*(?:(?:{odd}){plain}*)*{re.escape(closer)}"


def occurrences(
    text: str, name: str, language: Language, *, max_bytes: int = MAX_PARSED_BYTES
) -> list[tuple[int, bool]] | None:
    """Return the offsets where the name is an identifier, and whether it is defined there.

    Shape: code points, in order, without comments and strings; None if it cannot be parsed.
    """
    places = [
        match.start() for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)
    ]
    if not places:
        return []
    data = text.encode("utf-8", "surrogatepass")
    language, tree = parsed(data, language, max_bytes=max_bytes)
    if tree is None:
        return None
    defined = {one.name_byte for one in definitions(tree, data, language)}
    length = len(name.encode("utf-8", "surrogatepass"))
    found: list[tuple[int, bool]] = []
    at_point = at_byte = 0
    for place in places:
        at_byte += len(text[at_point:place].encode("utf-8", "surrogatepass"))
        at_point = place
        node = tree.root_node.descendant_for_byte_range(at_byte, at_byte + length)
        if node is None or (node.start_byte, node.end_byte) != (at_byte, at_byte + length):
            continue
        if not any(word in node.type for word in _NOT_CODE):
            found.append((place, at_byte in defined))
    return found
