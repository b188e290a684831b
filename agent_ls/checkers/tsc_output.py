"""Reads what ``tsc`` prints, in the plain form and in the one meant for people."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_WHAT = r"(?P<severity>error|warning|message|suggestion) (?P<code>TS\d+): ?(?P<text>.*)$"
_PLAIN = re.compile(r"^(?P<file>\S.*?)\((?P<line>\d+),(?P<column>\d+)\): " + _WHAT)
_PRETTY = re.compile(r"^(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+) - " + _WHAT)
_SAID = re.compile("^" + _WHAT)
_LINE_END = re.compile(r"\r\n|[\r\n\u2028\u2029]")
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Printed:
    """One diagnostic as it was printed."""

    file: str
    """As printed, relative to where tsc ran; empty when it is about no file."""
    line: int
    """From 1, by TypeScript's own line ends."""
    column: int
    """From 1, in UTF-16 units."""
    severity: str
    code: str
    lines: list[str] = field(default_factory=list[str])

    @property
    def message(self) -> str:
        """Return the whole text, further lines included."""
        return "\n".join(self.lines)


def parse_output(output: str) -> list[Printed]:
    """Return the diagnostics in the order in which they were printed."""
    found: list[Printed] = []
    is_open = False
    for raw in output.split("\n"):
        line = _ESCAPE.sub("", raw.removesuffix("\r"))
        printed = _start_of(line)
        if printed is not None:
            found.append(printed)
            is_open = True
        elif is_open and line.startswith(" ") and line.strip():
            found[-1].lines.append(line)
        else:
            # After an empty line the pretty form repeats the source.
            is_open = False
    return found


def place_of(printed: Printed, text: str) -> tuple[int, int, int]:
    """Return line, column and end column in ``text``, from 0, as ``Finding`` has them.

    TypeScript ends lines at U+2028 and U+2029 too, and counts UTF-16 units.
    """
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    at = starts[min(printed.line, len(starts)) - 1]
    units = printed.column - 1
    while units > 0 and at < len(text):
        units -= 2 if ord(text[at]) > 0xFFFF else 1
        at += 1
    before = re.split(r"\r\n|\r|\n", text[:at])
    word = _WORD.match(text, at)
    width = len(word.group()) if word else 1
    return len(before) - 1, len(before[-1]), len(before[-1]) + width


def _start_of(line: str) -> Printed | None:
    for form in (_PLAIN, _PRETTY, _SAID):
        if told := form.match(line):
            place = {"file": "", "line": "1", "column": "1"} | told.groupdict()
            return Printed(
                place["file"],
                int(place["line"]),
                int(place["column"]),
                place["severity"],
                place["code"],
                [place["text"]],
            )
    return None
