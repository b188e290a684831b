"""Documents as an editor holds them, for ``client``; converts positions on its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_ls.edits.minimal import same_ahead, same_behind

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass
class Buffer:
    """One open document, as an editor holds it."""

    uri: str
    language_id: str
    text: str
    version: int

    def offset(self, place: Mapping[str, int], encoding: str) -> int:
        """Return the code point at a position from the server."""
        starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        if place["line"] >= len(starts):
            return len(self.text)
        start = starts[place["line"]]
        end = _LINE_END.search(self.text, start)
        line = self.text[start : end.start() if end else len(self.text)]
        return start + _code_points(line, place["character"], encoding)

    def place(self, offset: int, encoding: str) -> dict[str, int]:
        """Return the position of a code point."""
        ends = [match.end() for match in _LINE_END.finditer(self.text, 0, offset)]
        start = ends[-1] if ends else 0
        return {"line": len(ends), "character": _units(self.text[start:offset], encoding)}

    def edited(self, edits: Sequence[Mapping[str, Any]], encoding: str) -> str:
        """Return the text after edits; all their positions refer to the current text."""
        spans = sorted(
            (
                self.offset(edit["range"]["start"], encoding),
                self.offset(edit["range"]["end"], encoding),
                number,
                str(edit["newText"]),
            )
            for number, edit in enumerate(edits)
        )
        text = self.text
        for start, end, _, new_text in reversed(spans):
            text = text[:start] + new_text + text[end:]
        return text


def common_ends(before: str, after: str) -> tuple[int, int]:
    """Return the lengths of the common start of two texts and, beyond that, of their common end."""
    limit = min(len(before), len(after))
    start = same_ahead(before, 0, after, 0, limit)
    end = same_behind(before, len(before), after, len(after), limit - start)
    # Do not split a CRLF.
    if start and before[start - 1] == "\r":
        start -= 1
    if end and before[len(before) - end] == "\n":
        end -= 1
    return start, end


def language_of(path: str) -> str:
    """Return the language id of a file by its name."""
    names = {".py": "python", ".ts": "typescript", ".tsx": "typescriptreact", ".js": "javascript"}
    return names.get(Path(path).suffix, "plaintext")


def _code_points(line: str, units: int, encoding: str) -> int:
    """Return the number of code points in the first ``units`` of a line."""
    if line.isascii():
        return min(units, len(line))
    passed = 0
    for index, character in enumerate(line):
        if passed >= units:
            return index
        passed += _units(character, encoding)
    return len(line)


def _units(text: str, encoding: str) -> int:
    match encoding:
        case "utf-8":
            return len(text.encode())
        case "utf-32":
            return len(text)
        case _:
            return len(text.encode("utf-16-le")) // 2
