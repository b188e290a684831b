"""Extract the lines of a patch from a model's message.

Removes what is part of no patch format: code fences, a common indentation, JSON escapes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.edits.lines import BOM, flattened
from agent_ls.edits.requests import HunkLine

NO_END = "\\ No newline"
_FENCE = re.compile(r"^(```|~~~)[\w.+-]*\s*$")
_STARTS = re.compile(r"([ \t]*)(?:@@|--- |\+\+\+ |diff --git |\*\*\* (?:Begin|Add|Update|Delete) )")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "", '"': '"', "\\": "\\", "/": "/"}


def patch_lines(patch: str) -> list[str]:
    """Return the lines of the patch, without line ends and without anything around it."""
    text = flattened(patch, alone=False)
    if "\n" not in text.strip() and "\\n" in text:
        # No patch has only one line: its newlines were escaped once too often.
        text = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), text)
    return _outdented(_unfenced(text.split("\n")))


def hunk_line(raw: str) -> HunkLine:
    """Parse one line of a hunk; a line without a sign is context."""
    match raw[:1]:
        case "+":
            return HunkLine("+", raw[1:].removeprefix(BOM))
        case "-":
            return HunkLine("-", raw[1:].removeprefix(BOM))
        case " ":
            return HunkLine(" ", raw[1:].removeprefix(BOM))
        case _:
            return HunkLine(" ", raw.removeprefix(BOM))


def _unfenced(lines: list[str]) -> list[str]:
    """Return the lines inside the fences around the patch or around its parts."""
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    first = next((number for number, line in enumerate(lines) if _STARTS.match(line)), len(lines))
    if len(fences) == 1 and not any(line.strip() for line in lines[fences[0] + 1 :]):
        return lines[: fences[0]]
    if len(fences) < 2 or fences[0] > first:
        return lines
    pairs = list(zip(fences[::2], fences[1::2], strict=False))
    if len(fences) % 2 == 0 and all(_is_patch(lines[low + 1 : high]) for low, high in pairs):
        return [line for low, high in pairs for line in lines[low + 1 : high]]
    return lines[fences[0] + 1 : fences[-1]]


def _is_patch(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return bool(_STARTS.match(first))


def _outdented(lines: list[str]) -> list[str]:
    """Remove the indentation of the whole patch."""
    lead = next((match[1] for line in lines if (match := _STARTS.match(line))), "")
    return [line.removeprefix(lead) for line in lines] if lead else lines
