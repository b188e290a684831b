"""Quotes of a POSIX shell: which one is open somewhere, and how a text stands there for itself."""

from __future__ import annotations

import re
import shlex

_SPECIAL = re.compile(r"([\\\"$`])")


def open_quote(before: str) -> str:
    """Return the quote that a shell which has read this text is inside of; empty: none."""
    quote, is_escaped = "", False
    for character in before:
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
    return quote


def quoted_in(quote: str, text: str) -> str:
    """Return a text as it stands for itself inside of this quote; empty: outside of any."""
    match quote:
        case "'":
            return text.replace("'", "'\\''")
        case '"':
            return _SPECIAL.sub(r"\\\1", text)
        case _:
            return shlex.quote(text)
