"""Lines as editors count them: ended by LF, CRLF or CR, and by nothing else."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """Return the lines without their ends; one more than there are ends."""
    return _LINE_END.split(text)


def line_text(lines: list[str], line: int) -> str:
    """Return one line, stripped; empty when there is none such."""
    return lines[line].strip() if 0 <= line < len(lines) else ""
