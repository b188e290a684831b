"""What a checker found in a file."""

from __future__ import annotations

import re
from enum import StrEnum

from agent_ls.domain.record import Record

_LINE_NUMBER = re.compile(r"\blines? \d+")
"""Where a message names another line, such as "already defined on line 3": that one moves, too."""


class Severity(StrEnum):
    """How bad a finding is; only errors and warnings can fail a gate."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class Finding(Record):
    """One finding; lines and columns are 0-based, columns count code points, the end is open."""

    path: str
    checker: str
    """``ruff``, ``tsc``, …"""
    code: str = ""
    message: str
    severity: Severity = Severity.ERROR
    start_line: int = 0
    start_column: int = 0
    end_line: int = 0
    end_column: int = 0
    line_text: str = ""
    """The first line it stands on, stripped: tells a moved finding from a new one."""

    @property
    def fingerprint(self) -> tuple[str, str, str, str, str]:
        """Return what stays equal when other lines move the finding up or down."""
        message = _LINE_NUMBER.sub("line", self.message)
        return (self.path, self.checker, self.code, message, self.line_text)


class CheckReport(Record):
    """What one or several checkers said of a set of texts."""

    findings: tuple[Finding, ...] = ()
    checkers: tuple[str, ...] = ()
    """Those that really ran."""
    unanswered: tuple[str, ...] = ()
    """Those that still look, so that nobody knows yet what they find."""
    mended: tuple[str, ...] = ()
    """Files of which something is not found any more that was found in the texts from before."""
    problems: tuple[str, ...] = ()
    """For a person: why a checker could not run (not installed, timed out, not trusted)."""
    cautions: tuple[str, ...] = ()
    """For a person: why what a checker says may be wrong, such as a broken configuration."""
    is_cut_short: bool = False
    """Broken syntax in one file may have kept a checker from looking at any further."""
