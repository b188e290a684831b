"""What the agent is told when a person picks something in a document instead of typing.

Pure: the place, the lines around it, and the wish.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import model_validator

from agent_ls.domain.findings import Finding
from agent_ls.lsp.wire import Deciding, EditorDiagnostic, Line, Name, Text
from agent_ls.syntax.comments import InstructionComment

_AROUND_LINES = 3
_MAX_LINES = 60
_MAX_PROBLEMS = 20

CONTINUE = "Continue: do now what you said you would do."


class PromptArgument(Deciding):
    """The argument of ``agent-ls.prompt``: words, or more than words."""

    text: Text = ""
    uri: Name | None = None
    line: Line = 0
    last_line: Line | None = None
    about: Literal["", "comment", "selection"] = ""
    """What in the document it is about; its text is read when the command runs."""
    when_busy: Literal["steer", "follow_up"] = "follow_up"

    @model_validator(mode="before")
    @classmethod
    def _from_words(cls, given: object) -> object:
        return {"text": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        if self.uri is None and (self.about or self.last_line is not None or self.line):
            raise ValueError("line, lastLine and about mean nothing without uri")
        if self.last_line is not None and self.last_line < self.line:
            raise ValueError("lastLine is before line")
        return self


def comment_prompt(path: str, text: str, comment: InstructionComment) -> str:
    """Return the prompt of an instruction comment; the agent takes the comment out when done."""
    last = comment.line + text.count("\n", comment.start, comment.end)
    return (
        f"{comment.prompt}\n\n"
        f"This instruction stands in a comment in {path}, {_lines_named(comment.line, last)}:\n"
        f"{_excerpt(text, comment.line - _AROUND_LINES, last + _AROUND_LINES)}\n"
        "Carry it out, and remove that comment when you are done."
    )


def selection_prompt(wish: str, path: str, text: str, first: int, last: int) -> str:
    """Return a prompt about some lines (0-based, inclusive)."""
    about = f"It is about {path}, {_lines_named(first, last)}:\n{_excerpt(text, first, last)}"
    return f"{wish}\n\n{about}".lstrip()


def finding_prompt(finding: Finding, line: int) -> str:
    """Return the wish to mend what a checker found."""
    code = f" {finding.code}" if finding.code else ""
    return (
        f"Fix this problem in {finding.path}, line {line + 1}, "
        f"reported by {finding.checker}{code}: {finding.message}"
    )


def problem_prompt(path: str, line: int, message: str, source: str) -> str:
    """Return the wish to mend a diagnostic of another server."""
    by = f", reported by {source}" if source else ""
    return f"Fix this problem in {path}, line {line + 1}{by}: {message}"


def with_problems(prompt: str, problems: Iterable[EditorDiagnostic], first: int, last: int) -> str:
    """Add what the editor's other servers say of these lines, where the client tells it."""
    said = [
        f"- line {one.line + 1}: {one.message}" + (f" ({one.source})" if one.source else "")
        for one in problems
        if first <= one.line <= last
    ]
    if not said:
        return prompt
    return "\n".join([prompt, "", "The editor reports there:", *said[:_MAX_PROBLEMS]])


def _lines_named(first: int, last: int) -> str:
    return f"line {first + 1}" if first == last else f"lines {first + 1} to {last + 1}"


def _excerpt(text: str, first: int, last: int) -> str:
    """Return lines with their numbers, the middle left out when there are very many."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first, last = max(0, first), min(last, len(lines) - 1)
    shown = [f"{number + 1:>5}  {lines[number]}" for number in range(first, last + 1)]
    if len(shown) > _MAX_LINES:
        half = _MAX_LINES // 2
        shown = [*shown[:half], f"       … {len(shown) - 2 * half} lines …", *shown[-half:]]
    return "\n".join(shown)
