"""Compare lines whose characters differ (quotes, dashes, accents), and convert between them.

Defines which characters count as equal. The caller decides about white space at line ends.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from rapidfuzz.distance import Indel

Key = Callable[[str], str]

MAX_CARRIED = 20_000
"""Longer texts are not converted: time and memory grow with the square of the length."""

_QUOTES = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
}
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
BLANKS = dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f", " ")
_GROUPS = (_QUOTES, _DASHES, BLANKS)
"""A model that writes one character of a group differently does so for the whole group."""
_PLAIN = {
    **_QUOTES, **_DASHES, **BLANKS, "\u2026": "...", **dict.fromkeys("\ufeff\u200b", ""),
}  # fmt: skip
_TABLE = str.maketrans(_PLAIN)


def trimmed(line: str) -> str:
    """Return the line without trailing blanks."""
    return line.rstrip(" \t\x0c")


def stripped(line: str) -> str:
    """Return the line without indentation and trailing blanks."""
    return line.strip(" \t\x0c")


def folded(line: str) -> str:
    """Return the stripped line in NFC, with typographic characters replaced by plain ones."""
    bare = stripped(line)
    if bare.isascii():
        return bare
    return stripped(unicodedata.normalize("NFC", bare).translate(_TABLE))


def plain(text: str) -> str:
    """Return the text in NFC with plain characters, keeping blanks at its ends."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).translate(_TABLE)


def units(text: str) -> list[tuple[str, str]]:
    """Return pairs of a plain form and the piece of text it stands for.

    Shape: the pieces joined are the text; a base character and its accents are one piece.
    """
    pieces: list[str] = []
    for char in text:
        if pieces and unicodedata.combining(char):
            pieces[-1] += char
        else:
            pieces.append(char)
    return [
        (unicodedata.normalize("NFC", piece).translate(_TABLE) if not piece.isascii() else piece,
         piece)
        for piece in pieces
    ]  # fmt: skip


def carried(old: str, new: str, there: str, table: dict[str, str]) -> str:
    """Return ``new`` with the file's characters wherever it repeats ``old``.

    ``old`` and ``there`` are the same text in different characters. Parts that the edit does not
    touch keep the file's characters; added parts are converted by the table.
    """
    if old == there:
        return converted(new, table)
    olds, theres, news = units(old), units(there), units(new)
    source = _pairs(olds, theres)
    if source is None:
        return new
    into = _way(table)
    parts: list[str] = []
    for op in Indel.opcodes([key for key, _ in olds], [key for key, _ in news]):
        if op.tag == "equal":
            parts += [
                source[at] if olds[at][1] == piece else into(piece)
                for at, (_, piece) in zip(
                    range(op.src_start, op.src_end), news[op.dest_start : op.dest_end], strict=True
                )
            ]
        elif op.tag in ("insert", "replace"):
            parts += [into(piece) for _, piece in news[op.dest_start : op.dest_end]]
    return "".join(parts)


def conversions(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the map from characters of the old lines to the file's.

    Shape: only conversions that are safe in new text: never from plain to typographic.
    """
    found: dict[str, str] = {}
    for old, there in pairs:
        if old != there and not old.isascii():
            olds, theres = units(old), units(there)
            source = _pairs(olds, theres)
            if source is not None:
                found |= _conversion(olds, source)
    for group in _GROUPS:
        if any(group.get(piece) == there for piece, there in found.items()):
            found = {**group, **found}
    return found


def converted(line: str, table: dict[str, str]) -> str:
    """Return the line with the pieces of the table replaced."""
    if not table or line.isascii():
        return line
    into = _way(table)
    return "".join(into(piece) for _, piece in units(line))


def _way(table: dict[str, str]) -> Key:
    """Return the function that converts a piece; a Unicode normal form applies to all pieces."""
    for form in ("NFC", "NFD"):
        if any(unicodedata.normalize(form, piece) == there for piece, there in table.items()):
            return lambda piece: table.get(piece) or unicodedata.normalize(form, piece)
    return lambda piece: table.get(piece, piece)


def _pairs(olds: list[tuple[str, str]], theres: list[tuple[str, str]]) -> list[str] | None:
    """Return the file's piece for each old piece; None if the texts differ.

    Pieces of different lengths match if they add up: an ellipsis is three dots. If several old
    pieces are one piece of the file, the first one gets it and the others are empty.
    """
    found: list[str] = []
    at, rest = 0, ""
    for key, _ in olds:
        if rest:
            start, have = at, rest
        else:
            start, have = at, ""
            while len(have) < len(key) and at < len(theres):
                have += theres[at][0]
                at += 1
        if not have.startswith(key):
            return None
        rest = have[len(key) :]
        found.append("".join(piece for _, piece in theres[start:at]))
    return found if at == len(theres) and not rest else None


def _conversion(olds: list[tuple[str, str]], source: list[str]) -> dict[str, str]:
    return {
        piece: there
        for (_, piece), there in zip(olds, source, strict=True)
        if piece != there and not piece.isascii()
    }
