"""What the agent is told when a person picks something in a document instead of typing.

Pure: the place and the wish; the text there is told with the focus.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import lines_named
from agent_ls.lsp.wire import Deciding, EditorDiagnostic, Line, Name, Text
from agent_ls.syntax.comments import InstructionComment

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
    problems: tuple[EditorDiagnostic, ...] = ()
    """What the editor said of the place, where it tells that with a code action."""

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


def comment_prompt(path: str, comment: InstructionComment, last: int) -> str:
    """Return the prompt of an instruction comment; the agent takes the comment out when done."""
    return (
        f"{comment.prompt}\n\n"
        f"This instruction stands in a comment in {path}, {lines_named(comment.line, last)}. "
        "Carry it out, and remove that comment when you are done."
    )


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
