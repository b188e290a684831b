"""Findings of checkers in files."""

from __future__ import annotations

import re
from enum import StrEnum

from agent_ls.domain.record import Record

_LINE_NUMBER = re.compile(r"\blines? \d+")
"""Another line named by a message ("already defined on line 3"); it shifts with edits too."""


class Severity(StrEnum):
    """How bad a finding is; only errors and warnings can fail a gate."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class TextFix(Record):
    """A replacement that mends a finding."""

    old_text: str
    """As in the file; a text that does not occur exactly once cannot be replaced."""
    new_text: str


class Finding(Record):
    """One finding. Lines and columns are 0-based, columns count code points, the end is open."""

    path: str
    checker: str
    """``ruff``, ``tsc``, …; ``review`` for the agent's own."""
    code: str = ""
    message: str
    severity: Severity = Severity.ERROR
    start_line: int = 0
    start_column: int = 0
    end_line: int = 0
    end_column: int = 0
    line_text: str = ""
    """Its first line, stripped: tells a finding that moved from a new one."""
    fix: TextFix | None = None
    """Offered where the finding is shown, while its text is there."""

    @property
    def fingerprint(self) -> tuple[str, str, str, str, str]:
        """Return a key that stays equal when other lines move the finding."""
        message = _LINE_NUMBER.sub("line", self.message)
        return (self.path, self.checker, self.code, message, self.line_text)


class CheckReport(Record):
    """The findings of one or several checkers in a set of texts."""

    findings: tuple[Finding, ...] = ()
    checkers: tuple[str, ...] = ()
    """Checkers that really ran."""
    unanswered: tuple[str, ...] = ()
    """Checkers that are still running, so their findings are not known yet."""
    mended: tuple[str, ...] = ()
    """Files that had a finding in the texts before and no longer have it."""
    problems: tuple[str, ...] = ()
    """For a user: why a checker could not run (not installed, timed out, not trusted)."""
    untrusted: tuple[str, ...] = ()
    """Folders that the user must trust before a checker runs there; ``problems`` say so."""
    cautions: tuple[str, ...] = ()
    """For a user: why findings may be wrong, such as a broken configuration."""
    is_cut_short: bool = False
    """A syntax error in one file may have kept a checker from checking others."""
