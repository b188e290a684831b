"""Reads what commands that check print: lines as compilers print them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent_ls.domain.findings import Severity

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_WORD = re.compile(r"\w+")
_LINE = re.compile(
    r"^\s*(?:[\w-]+: )?(?P<path>[^:\s][^:]*?):(?P<line>\d+)(?::(?P<column>\d+))?"
    r"(?::(?P<end_line>\d+):(?P<end_column>\d+))?:?\s+(?:- )?"
    r"(?:(?P<severity>(?i:fatal error|error|warning|note|info(?:rmation)?|hint|help|style))"
    r"(?:\[(?P<code>[^\]]+)\])?:\s*)?(?P<message>\S.*)$"
)
_CODE_AT_END = re.compile(r"(?<!\s)\s+[\[(](?P<code>[A-Za-z][\w./-]*)[\])]$")
SEVERITIES = {
    "error": Severity.ERROR,
    "fatal error": Severity.ERROR,
    "fatal": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.INFORMATION,
    "info": Severity.INFORMATION,
    "information": Severity.INFORMATION,
    "help": Severity.INFORMATION,
    "hint": Severity.HINT,
    "style": Severity.HINT,
    "none": Severity.HINT,
}
_MAX_LINE = 4_096
"""Of longer ones, such as minified code that is quoted, the beginning is read."""
UNPARSABLE = "invalid-syntax"
"""The code that tells that the rest of the file was not looked at."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a command said; lines and columns from 1, 0 for what it did not say."""

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


def plain_lines(output: str) -> list[str]:
    """Return the lines without colours; of long ones the beginning."""
    return [_ESCAPE.sub("", line[:_MAX_LINE]) for line in output.splitlines()]


def read_lines(output: str) -> list[Said]:
    """Return what lines say that look as those of most compilers."""
    matches = map(_LINE.search, plain_lines(output))
    return [of_groups(match.groupdict()) for match in matches if match is not None]


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


def of_groups(groups: Mapping[str, str | None]) -> Said:
    """Return what a line says, from the groups of what it looks like."""

    def number(name: str) -> int:
        # A pattern may take words for a number: what else the line says counts all the same.
        text = (groups.get(name) or "").strip()
        return int(text) if text.isdecimal() else 0

    message, code = (groups["message"] or "").strip(), groups.get("code") or ""
    if not code and (at_end := _CODE_AT_END.search(message)):
        message, code = message[: at_end.start()], at_end["code"]
    # A last column is the last one there, as mypy and compilers print it.
    end_column = number("end_column")
    return Said(
        path=(groups["path"] or "").strip(),
        message=message,
        line=number("line"),
        column=number("column"),
        end_line=number("end_line"),
        end_column=end_column + 1 if end_column else 0,
        code=code,
        severity=SEVERITIES.get((groups.get("severity") or "").lower()),
    )
