"""Small helpers for building messages."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Return the text with a full stop, unless it already ends a sentence."""
    said = text.rstrip()
    return said if not said or said.endswith((".", "!", "?", "…", ".”", ".)")) else f"{said}."


def clause(text: str) -> str:
    """Return the text without the stop at its end, for words or a colon that follow."""
    return text.rstrip().rstrip(".:!?")


def counted(count: int, word: str) -> str:
    """Return a count with its noun: ``1 step``, ``2 steps``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def seconds(value_s: float | None) -> str:
    """Return a time of three digits, as ``1200 s`` or ``0.25 s``; of None: ``its time``."""
    if value_s is None:
        return "its time"
    return f"{float(f'{value_s:.3g}'):g} s"


def one_line(text: str, chars: int) -> str:
    """Return the text on one line, cut to ``chars`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[:chars]}…"
