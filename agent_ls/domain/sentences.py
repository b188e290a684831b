"""How texts of ours take in counts, and words of others."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return a text that another sentence can follow: with a mark at its end if it has none."""
    said = text.rstrip()
    return said if not said or said.endswith((".", "!", "?", "…", ".”", ".)")) else f"{said}."


def counted(count: int, word: str) -> str:
    """Return a count with its word: ``1 step``, ``2 steps``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def one_line(text: str, chars: int) -> str:
    """Return the text on one line, cut after so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[:chars]}…"
