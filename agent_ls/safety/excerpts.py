"""Lines of a text as they go to the model with a prompt: numbered, cleaned and without secrets."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.safety.secrets import mask, mask_lines
from agent_ls.safety.text import cleaned

MAX_LINES_READ = 2_000
_MAX_CHARACTERS_READ = 1_000
"""Per line; the rest of a longer line is not processed."""
_MAX_LINE_CHARACTERS = 200


def numbered(lines: Sequence[str], first: int, last: int) -> list[str]:
    """Return these lines (0-based, inclusive) with their numbers, counted from 1."""
    first, last = max(0, first), min(last, len(lines) - 1, first + MAX_LINES_READ)
    # Mask the text as a whole: a private key is recognised by its first and last line.
    text = "\n".join(line[:_MAX_CHARACTERS_READ] for line in lines[first : last + 1])
    masked = mask_lines(cleaned(text)).split("\n")
    return [f"{first + at + 1:>5}  {cut(line)}" for at, line in enumerate(masked)]


def one_line(text: str) -> str:
    """Return a text as one line, cleaned, cut and without secrets."""
    return cut(mask(cleaned(" ".join(text[:_MAX_CHARACTERS_READ].split()))))


def cut(line: str) -> str:
    """Return a line, cut with a mark for the rest."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line
    return f"{line[:_MAX_LINE_CHARACTERS]} … {len(line) - _MAX_LINE_CHARACTERS:,} more characters"
