"""What a review of code gives: findings with their places, and fixes where these are short."""

from __future__ import annotations

import posixpath
import re

from pydantic import JsonValue, field_validator

from agent_ls.domain.findings import Severity, TextFix
from agent_ls.domain.record import Record
from agent_ls.domain.sentences import counted

REVIEWER = "review"
"""Stands where a checker's name does in the findings of a review."""


class CodeFinding(Record):
    """One finding, as the model reports it."""

    path: str
    line: int
    """1-based, in the file as it is now."""
    end_line: int | None = None
    """The last line, inclusive; None: the same."""
    severity: Severity = Severity.WARNING
    title: str
    detail: str = ""
    fix: TextFix | None = None

    @field_validator("path")
    @classmethod
    def _in_one_spelling(cls, path: str) -> str:
        return posixpath.normpath(path)

    @property
    def place(self) -> str:
        """Return where it is, for a person: ``prices.py:13-15``."""
        is_range = self.end_line is not None and self.end_line > self.line
        return (
            f"{self.path}:{self.line}-{self.end_line}" if is_range else f"{self.path}:{self.line}"
        )


class CodeReview(Record):
    """The result of a review."""

    summary: str = ""
    findings: tuple[CodeFinding, ...] = ()

    def as_markdown(self) -> str:
        """Return the review for a person: a table, then what there is to say of each finding."""
        parts = [self.summary.strip()] if self.summary.strip() else []
        if not self.findings:
            return "\n\n".join([*parts, "No findings."])
        files = {one.path for one in self.findings}
        found = counted(len(self.findings), "finding")
        parts.append(f"{found} in {counted(len(files), 'file')}:")
        rows = (
            f"| {one.severity} | {_code(one.place)} | {_cell(one.title)} |" for one in self.findings
        )
        parts.append("\n".join(["| severity | where | what |", "|---|---|---|", *rows]))
        parts += (_told(one) for one in self.findings if one.detail.strip() or one.fix)
        return "\n\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', '').replace('|', '')}`"


def _told(one: CodeFinding) -> str:
    """Return the detail and the fix of one finding, under its place."""
    parts = [f"**{_code(one.place)} {_cell(one.title)}**"]
    if detail := one.detail.strip():
        # A fence that is never closed would take in all that follows.
        parts.append(f"{detail}\n```" if detail.count("```") % 2 else detail)
    if one.fix is not None:
        lines = [f"-{line}" for line in one.fix.old_text.splitlines()]
        lines += [f"+{line}" for line in one.fix.new_text.splitlines()]
        # Code may hold fences itself.
        longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
        fence = "`" * max(3, longest + 1)
        parts.append("\n".join([f"{fence}diff", *lines, fence]))
    return "\n\n".join(parts)


def _text(description: str) -> dict[str, JsonValue]:
    return {"type": "string", "description": description}


_FIX: dict[str, JsonValue] = {
    "type": "object",
    "description": "Only a short and certain one.",
    "properties": {
        "old_text": _text("Exactly as in the file now; must occur once."),
        "new_text": _text("What replaces it."),
    },
    "required": ["old_text", "new_text"],
    "additionalProperties": False,
}
_FINDING: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "path": _text("The file."),
        "line": {"type": "integer", "minimum": 1, "description": "In the file as it is now."},
        "end_line": {"type": "integer", "minimum": 1},
        "severity": {
            "enum": [Severity.ERROR, Severity.WARNING, Severity.INFORMATION],
            "description": "error: wrong behaviour; warning: a risk; information: a remark.",
        },
        "title": _text("What is wrong, in one line."),
        "detail": _text("Why, what happens then, and how you know."),
        "fix": _FIX,
    },
    "required": ["path", "line", "severity", "title"],
    "additionalProperties": False,
}
REVIEW_SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "summary": _text("One or two sentences about the whole."),
        "findings": {"type": "array", "maxItems": 100, "items": _FINDING},
    },
    "required": ["summary", "findings"],
    "additionalProperties": False,
}
"""What a review has to give, as a JSON schema; it fits ``CodeReview``."""
