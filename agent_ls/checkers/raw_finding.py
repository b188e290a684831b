"""Turn what a checker printed into a finding: positions, columns, and the end of the word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.domain.findings import Finding, Severity
from agent_ls.safety.text import cleaned, visible_line

UNPARSABLE = "invalid-syntax"
"""Code of a syntax error, after which the rest of the file was not checked."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class RawFinding:
    """One message of a checker; lines and columns from 1, or 0 if not given."""

    path: str
    """As printed."""
    message: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    """Exclusive."""
    code: str = ""
    severity: Severity | None = None


def lines_of(text: str) -> list[str]:
    """Return the lines as editors count them: only LF, CRLF and CR end a line."""
    return _LINE_END.split(text.removeprefix("\ufeff"))


def finding_of(
    said: RawFinding,
    path: str,
    lines: list[str],
    *,
    checker: str,
    columns: str = "characters",
    severity: Severity = Severity.ERROR,
) -> Finding:
    """Return the finding in a file with these lines.

    Positions outside the text are clamped. ``severity`` applies if the message has none.
    """
    line = min(max(said.line - 1, 0), len(lines) - 1)
    end_line = min(max(said.end_line - 1, line), len(lines) - 1)
    if said.column > 0:
        column = column_of(lines[line], said.column, columns)
        end_column = word_end(lines[line], column)
    else:
        column = len(lines[line]) - len(lines[line].lstrip())
        end_column = len(lines[line])
    if said.end_column > 0:
        end_column = column_of(lines[end_line], said.end_column, columns)
    if end_line == line:
        end_column = max(end_column, column)
    return Finding(
        path=path,
        checker=checker,
        code=visible_line(said.code),
        # The model reads this too.
        message=cleaned(said.message),
        severity=said.severity or severity,
        start_line=line,
        start_column=column,
        end_line=end_line,
        end_column=end_column,
        line_text=lines[line].strip(),
    )


def column_of(line: str, column: int, unit: str) -> int:
    """Convert a 1-based column in this unit to a 0-based column in code points."""
    if unit == "characters":
        return min(column - 1, len(line))
    encoding, width = ("utf-8", 1) if unit == "bytes" else ("utf-16-le", 2)
    data = line.encode(encoding, errors="replace")
    return len(data[: (column - 1) * width].decode(encoding, errors="ignore"))


def word_end(line: str, column: int) -> int:
    """Return the end of the word that begins at the column; the next column if there is none."""
    word = _WORD.match(line, column)
    return word.end() if word else column + 1
