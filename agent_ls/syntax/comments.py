"""Find comments, and instructions to the agent in them: ``# agent: make this async``.

Uses the tree if there is a grammar, else ``comment_scanner``. Reads no files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.syntax.choosing import parsed
from agent_ls.syntax.comment_scanner import Comment, scan_comments
from agent_ls.syntax.languages import Language, language_of
from agent_ls.syntax.parsing import walk

MARKER = "agent:"

_DECORATION = "#/*!;-%<>=\"'+|@ \t"
"""Characters allowed between a comment's opener and its first word, as in ``///`` or ``/**``."""


@dataclass(frozen=True, slots=True)
class InstructionComment:
    """One instruction to the agent, with the span of its comments."""

    start: int
    """Start of the first comment, in code points."""
    end: int
    """End of the last comment; without the line end."""
    line: int
    """0-based, of ``start``."""
    prompt: str
    """The text after the marker, without comment decoration; never empty."""


def find_instructions(
    text: str, *, language_id: str = "", file_name: str = "", marker: str = MARKER
) -> list[InstructionComment]:
    """Return the instructions in ``text``, in order; empty for a language without comments.

    Shape: a line comment continues in the line comments below it, if they begin in the same column
    and their text is indented deeper than the marker. A block comment is one instruction.
    """
    language = language_of(language_id, file_name)
    if language is None or not marker or marker.lower() not in text.lower():
        return []
    found = comments(text, language)
    instructions: list[InstructionComment] = []
    taken = 0
    for number, comment in enumerate(found):
        if number < taken or (prompt := _prompt(comment, marker)) is None:
            continue
        taken = number + 1
        parts = [prompt]
        if not comment.closer:
            while taken < len(found) and _continues(text, comment, found[taken - 1], found[taken]):
                parts.append(found[taken].body.strip())
                taken += 1
        joined = "\n".join(part for part in parts if part).strip()
        if joined:
            line = text.count("\n", 0, comment.start)
            end = found[taken - 1].end
            instructions.append(InstructionComment(comment.start, end, line, joined))
    return instructions


def comments(text: str, language: Language) -> list[Comment]:
    """Return all comments of a text, in order, in code points."""
    data = text.encode("utf-8", "surrogatepass")
    language, tree = parsed(data, language)
    if tree is None:
        return scan_comments(text, language)
    spans = [(n.start_byte, n.end_byte) for n in walk(tree.root_node) if _is_comment(n.type)]
    return [
        comment
        for start, end in _code_points(text, data, spans)
        if (comment := _typed(text, start, end, language))
    ]


def _is_comment(node_type: str) -> bool:
    return node_type in ("comment", "line_comment", "block_comment")


def _code_points(text: str, data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert sorted byte spans to code-point spans, in one pass over the text."""
    if text.isascii():
        return spans
    found: list[tuple[int, int]] = []
    at_byte = at_char = 0
    for start, end in spans:
        at_char += len(data[at_byte:start].decode("utf-8", "surrogatepass"))
        length = len(data[start:end].decode("utf-8", "surrogatepass"))
        found.append((at_char, at_char + length))
        at_byte, at_char = end, at_char + length
    return found


def _typed(text: str, start: int, end: int, language: Language) -> Comment | None:
    """Return a node's comment, without the line end that some grammars include."""
    whole = text[start:end].rstrip("\r\n")
    for opener, closer, *_ in language.block:
        if whole.startswith(opener) and whole.endswith(closer):
            return Comment(
                start, start + len(whole), opener, closer, whole[len(opener) : -len(closer)]
            )
    for opener in sorted(language.line, key=len, reverse=True):
        if whole.startswith(opener):
            return Comment(start, start + len(whole), opener, "", whole[len(opener) :])
    return None


def _prompt(comment: Comment, marker: str) -> str | None:
    """Return the text after the marker; None if the comment does not begin with it."""
    body = comment.body.lstrip(_DECORATION + "\r\n")
    if body[: len(marker)].lower() != marker.lower():
        return None
    rest = body[len(marker) :]
    if not comment.closer:
        return rest.strip()
    lines = [re.sub(r"^[ \t]*\*+(?=\s|$)", "", line).strip() for line in rest.split("\n")]
    return "\n".join(lines).strip()


def _continues(text: str, first: Comment, previous: Comment, following: Comment) -> bool:
    """Tell whether ``following`` continues the instruction of ``first``."""
    between = text[previous.end : following.start]
    if following.closer or following.opener != first.opener:
        return False
    if (
        between.count("\n") != 1
        or between.strip()
        or _column(text, first) != _column(text, following)
    ):
        return False
    return bool(following.body.strip()) and _indent(following.body) > _indent(first.body)


def _column(text: str, comment: Comment) -> int:
    return comment.start - (text.rfind("\n", 0, comment.start) + 1)


def _indent(body: str) -> int:
    return len(body) - len(body.lstrip(" \t"))
