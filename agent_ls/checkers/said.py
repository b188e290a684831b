"""What checkers print, and how a finding is made of it: places, columns, and the word meant."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_ls.domain.findings import Finding, Severity
from agent_ls.safety.text import cleaned, visible_line

UNPARSABLE = "invalid-syntax"
"""The code that tells that the rest of the file was not looked at."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a program said; lines and columns from 1, 0 for what it did not say."""

    path: str
    """As printed."""
    message: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    """Open."""
    code: str = ""
    severity: Severity | None = None


def lines_of(text: str) -> list[str]:
    """Return the lines as editors count them: ended by LF, CRLF or CR, and by nothing else."""
    return _LINE_END.split(text.removeprefix("\ufeff"))


def finding_of(
    said: Said,
    path: str,
    lines: list[str],
    *,
    checker: str,
    columns: str = "characters",
    severity: Severity = Severity.ERROR,
) -> Finding:
    """Return the finding in a file with these lines.

    Places outside of the text are moved to its nearest end. ``severity`` is for one that says none.
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
        # The model reads it, too.
        message=cleaned(said.message),
        severity=said.severity or severity,
        start_line=line,
        start_column=column,
        end_line=end_line,
        end_column=end_column,
        line_text=lines[line].strip(),
    )


def column_of(line: str, column: int, unit: str) -> int:
    """Return where a column from 1 is in a line, in code points from 0."""
    if unit == "characters":
        return min(column - 1, len(line))
    encoding, width = ("utf-8", 1) if unit == "bytes" else ("utf-16-le", 2)
    data = line.encode(encoding, errors="replace")
    return len(data[: (column - 1) * width].decode(encoding, errors="ignore"))


def word_end(line: str, column: int) -> int:
    """Return where the word ends that begins there; the next column where none does."""
    word = _WORD.match(line, column)
    return word.end() if word else column + 1
