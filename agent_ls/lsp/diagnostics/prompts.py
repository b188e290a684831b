"""Prompts for actions that the user picks in a document instead of typing. Pure.

The text at the place itself is added by the focus injection.
"""

from __future__ import annotations

from agent_ls.domain.commands import call_line, called_in
from agent_ls.domain.findings import Finding
from agent_ls.domain.focus import lines_named
from agent_ls.syntax.comments import InstructionComment

CONTINUE = "Continue: do now what you said you would do."


def comment_note(path: str, comment: InstructionComment, last: int) -> str:
    """Return what is added to an instruction comment's prompt; the agent removes it when done."""
    return (
        f"{_stands_in(path)}{lines_named(comment.line, last)}. "
        "Carry it out, and remove that comment when you are done."
    )


def is_prompt_of(prompt: str, path: str, comment: InstructionComment) -> bool:
    """Say whether a prompt is an instruction comment's, wherever the comment stood then."""
    if called_in(comment.prompt) is None:
        return prompt.startswith(f"{comment.prompt}\n\n{_stands_in(path)}")
    is_call = prompt.startswith(f"{call_line(comment.prompt)}\n\n")
    return is_call and f"\n\n{_stands_in(path)}" in prompt


def _stands_in(path: str) -> str:
    return f"This instruction stands in a comment in {path}, "


def finding_prompt(finding: Finding, line: int) -> str:
    """Return the prompt to fix a checker's finding."""
    code = f" {finding.code}" if finding.code else ""
    return (
        f"Fix this problem in {finding.path}, line {line + 1}, "
        f"reported by {finding.checker}{code}: {finding.message}"
    )


def problem_prompt(path: str, line: int, message: str, source: str) -> str:
    """Return the prompt to fix another server's diagnostic."""
    by = f", reported by {source}" if source else ""
    return f"Fix this problem in {path}, line {line + 1}{by}: {message}"
