"""Read some lines of a file that is too large to be read as a whole. Blocking."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import TextIO

from agent_ls.domain.errors import WorkspaceError
from agent_ls.edits.file_encodings import is_utf8
from agent_ls.loop.ports.workspace import FilePart

_SAMPLE_BYTES = 2**18
_WIDE = ((codecs.BOM_UTF16_LE, b"\n\0"), (codecs.BOM_UTF16_BE, b"\0\n"))
_PIECE_CHARS = 2**16
_ENDS = ("\n", "\r")


def sample_of(descriptor: int) -> bytes:
    """Return the beginning of a file, as far as it is whole lines, to tell its encoding."""
    data = os.pread(descriptor, _SAMPLE_BYTES, 0)
    if len(data) < _SAMPLE_BYTES:
        return data
    # An unfinished character at the end would look like another encoding.
    for mark, end in _WIDE:
        if data.startswith(mark):
            return data[: data.rfind(end) + len(end)]
    cut = max(data.rfind(b"\n"), data.rfind(b"\r"), data.rfind(b" "))
    if cut > 0:
        return data[: cut + 1]
    return next((one for n in range(4) if is_utf8(one := data[: len(data) - n])), data[:-4])


def part_of(
    descriptor: int,
    shown: str,
    *,
    encoding: str,
    first: int,
    count: int,
    start: int,
    max_chars: int,
) -> FilePart:
    """Return lines of an open file, each from its character ``start``, about ``max_chars`` in all.

    Shape: ``first`` is 1-based, ``start`` 0-based.
    Errors: ``WorkspaceError`` if the file is no text there.
    """
    lines: list[str] = []
    lengths: list[int] = []
    room = max_chars
    number = 0
    with os.fdopen(os.dup(descriptor), encoding=encoding, errors="replace", newline="") as file:
        for number, pieces in _numbered(_Pieces(file)):
            if number < first:
                _cut(pieces, 0, 0)
                continue
            if len(lines) == count or room <= 0:
                return FilePart(tuple(lines), tuple(lengths), is_end=False)
            text, length = _cut(pieces, start, room)
            if "\0" in text:
                raise WorkspaceError(f"{shown} is binary in line {number}.")
            lines.append(text)
            lengths.append(length)
            room -= len(text) + 1
    return FilePart(tuple(lines), tuple(lengths), is_end=True, count=number)


class _Pieces:
    """Reads pieces of lines, none of which divides a line end."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._ahead = ""

    def read(self) -> str:
        """Return the rest of a line, or as much as is read at once; empty at the end."""
        ahead, self._ahead = self._ahead, ""
        piece = ahead if ahead.endswith(_ENDS) else ahead + self._file.readline(_PIECE_CHARS)
        if piece.endswith("\r"):
            following = self._file.readline(1)
            if following == "\n":
                return piece + following
            self._ahead = following
        return piece


def _numbered(source: _Pieces) -> Iterator[tuple[int, Iterator[str]]]:
    """Yield the number of each line, and its text in pieces, all of which must be taken."""
    number = 0
    while piece := source.read():
        number += 1
        yield number, _rest(source, piece)


def _rest(source: _Pieces, piece: str) -> Iterator[str]:
    while piece:
        yield piece.rstrip("\r\n")
        piece = "" if piece.endswith(_ENDS) else source.read()


def _cut(pieces: Iterator[str], start: int, room: int) -> tuple[str, int]:
    """Return at most ``room`` characters of a line from ``start`` on, and the line's length."""
    kept: list[str] = []
    length = 0
    for piece in pieces:
        low, high = max(start - length, 0), max(start + room - length, 0)
        kept.append(piece[low:high])
        length += len(piece)
    return "".join(kept), length
