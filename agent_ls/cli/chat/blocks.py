"""Splits Markdown that still arrives into the blocks that are finished and the one that is not.

Pure. A finished block is printed once and for all; the rest is drawn again with every piece.
"""

from __future__ import annotations

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable("table")


def split_finished(text: str) -> tuple[str, str]:
    """Return the finished blocks at the text's beginning, and the rest, which may still grow.

    The last block may always grow: a line can follow a paragraph, a list, a table or open code.
    """
    begins = [token.map[0] for token in _PARSER.parse(text) if not token.level and token.map]
    last = max(begins, default=0)
    if not last:
        return "", text
    lines = text.split("\n")
    return "\n".join(lines[:last]), "\n".join(lines[last:])
