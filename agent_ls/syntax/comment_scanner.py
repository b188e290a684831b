"""Find comments without a grammar, from a language's comment and string syntax.

Doubtful comments are left out. A quote that does not close on its line opens no string, nor does an
apostrophe inside a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.syntax.languages import Language


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment, in code points; ``closer`` is empty for a line comment."""

    start: int
    end: int
    opener: str
    closer: str
    body: str
    """The text between opener and closer."""


@dataclass(frozen=True, slots=True)
class _Syntax:
    token: re.Pattern[str]
    blocks: dict[str, tuple[str, bool]]
    strings: dict[str, str]
    escape: str
    comment_at: str


_CHARACTER = r"'(?:\\.|[^'\\\n])'"


_compiled: dict[str, _Syntax] = {}


def _syntax(language: Language) -> _Syntax:
    """Return the language's compiled syntax, cached."""
    if language.id not in _compiled:
        _compiled[language.id] = _compile(language)
    return _compiled[language.id]


def _compile(language: Language) -> _Syntax:
    """Join all openers of comments and strings into one pattern, longest first."""
    blocks = {block[0]: (block[1], len(block) > 2) for block in language.block}
    strings = {
        one if isinstance(one, str) else one[0]: one if isinstance(one, str) else one[1]
        for one in language.strings
    }
    tokens = sorted({*blocks, *language.line, *strings}, key=len, reverse=True)
    parts = [re.escape(token) for token in tokens]
    if language.escape:
        # Outside of strings an escaped quote opens nothing.
        parts.insert(0, re.escape(language.escape) + "[\"'`]")
    # If ' opens no string it may still enclose one character, which can be a quote.
    if strings and "'" not in tokens:
        parts.insert(0, _CHARACTER)
    pattern = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
    return _Syntax(pattern, blocks, strings, language.escape, language.comment_at)


_MAX_UNCLOSED = 50
"""Stop after this many unclosed blocks: the text is probably in another language."""


def scan_comments(text: str, language: Language) -> list[Comment]:
    """Return the comments of a text, in order; linear in its length."""
    syntax = _syntax(language)
    found: list[Comment] = []
    at = unclosed = 0
    while unclosed < _MAX_UNCLOSED and (match := syntax.token.search(text, at)):
        token, start = match.group().lower(), match.start()
        at = match.end()
        end: int | None = at
        if token in syntax.strings:
            if not _is_apostrophe(text, start):
                end = _string_end(text, at, syntax.strings[token], syntax.escape)
        elif token in syntax.blocks:
            closer, nested = syntax.blocks[token]
            end = _block_end(text, at, token, closer, nested=nested)
            if end is not None:
                found.append(Comment(start, end, token, closer, text[at : end - len(closer)]))
        elif token in language.line and _may_begin(text, start, syntax.comment_at):
            end = _line_end(text, at)
            found.append(Comment(start, end, token, "", text[at:end]))
        unclosed += end is None
        at = at if end is None else end
    return found


def _is_apostrophe(text: str, at: int) -> bool:
    """Tell whether the quote is inside a word; a single letter before it may be a string prefix."""
    return text[at] == "'" and at > 1 and text[at - 2 : at].isalnum()


def _may_begin(text: str, start: int, where: str) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if where == "line":
        return not before.strip()
    return where == "anywhere" or not before or before[-1] in " \t;&|("


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1] == "\r" else end


def _string_end(text: str, at: int, closer: str, escape: str) -> int | None:
    """Return the end of the string; ``at`` if it is no string, None if it never closes."""
    spans_lines = len(closer) > 1 or closer == "`"
    here = at
    while (end := text.find(closer, here)) >= 0:
        if not spans_lines and _breaks(text, here, end, escape):
            return at
        if not _is_escaped(text, at, end, escape):
            return end + len(closer)
        here = end + 1
    return None if spans_lines else at


def _breaks(text: str, start: int, end: int, escape: str) -> bool:
    """Tell whether there is an unescaped line end in between."""
    newline = text.find("\n", start, end)
    while newline >= 0:
        last = newline - 1 if text[newline - 1 : newline] == "\r" else newline
        if not _is_escaped(text, start, last, escape):
            return True
        newline = text.find("\n", newline + 1, end)
    return False


def _is_escaped(text: str, start: int, at: int, escape: str) -> bool:
    count = 0
    while escape and at - count > start and text[at - count - 1] == escape:
        count += 1
    return count % 2 == 1


def _block_end(text: str, at: int, opener: str, closer: str, *, nested: bool) -> int | None:
    """Return the end of the comment, after its closer; None if it never closes."""
    depth = 1
    while True:
        end = text.find(closer, at)
        if end < 0:
            return None
        inner = text.find(opener, at, end) if nested else -1
        if inner >= 0:
            depth, at = depth + 1, inner + len(opener)
            continue
        depth, at = depth - 1, end + len(closer)
        if depth == 0:
            return at
