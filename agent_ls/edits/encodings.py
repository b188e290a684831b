"""The bytes that an editor can write for a text. Pure.

No protocol tells a server in which encoding, or with which line ends, an editor keeps a file.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection
from typing import NamedTuple


class Encoding(NamedTuple):
    """How a text becomes bytes: by Python's name of it, behind a byte order mark or none."""

    mark: bytes
    name: str


_MARKED = (
    Encoding(codecs.BOM_UTF8, "utf-8"),
    Encoding(codecs.BOM_UTF16_LE, "utf-16-le"),
    Encoding(codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Encodings that are told by their byte order mark."""
_UTF_8 = Encoding(b"", "utf-8")
_UNMARKED = (
    _UTF_8,
    *(
        Encoding(b"", name)
        for name in (
            *("latin-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250", "mac-roman"),
            *("cp1251", "koi8-r", "iso8859-5", "cp866"),
            *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
        )
    ),
)
"""The others; those for one text write most letters alike."""


def encodings_of(text: str, data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings in which a file's bytes are exactly this text, as an editor shows it.

    Shape: an editor may keep the byte order mark and the file's line ends to itself; none where
    the file holds another text, or is in an encoding that is not known here.
    """
    for one in (_UTF_8, _MARKED[0]):
        if data == one.mark + text.encode("utf-8", "surrogatepass"):
            return (one,)
    return tuple(one for one in (*_plain(text), *_MARKED) if _is_in(one, text, data))


def held_as(text: str, data: bytes) -> tuple[str, tuple[Encoding, ...]]:
    """Return the text that a file's bytes are, so far as an editor that has just read or written
    them shows it as ``text``, and the encodings; an empty pair where they are another text.

    Some editors end the last line of every file that they write, or of every text that they show,
    and tell nobody; some show a file of mixed line ends with CR LF in all lines. A text typed in
    since is to be compared by ``encodings_of``: in other editors such ends are the person's, or an
    edit's.
    """
    texts = [text]
    if "\r\n" in text and b"\r" in data:
        plain = text.replace("\r\n", "\n")
        texts += [plain] if plain.replace("\n", "\r\n") == text and "\r" not in plain else []
    for one in texts:
        for shown in (one, _ended_otherwise(one)):
            if found := encodings_of(shown, data):
                return shown, found
    return "", ()


def ended(text: str, *, is_ended: bool) -> str:
    """Return a text with or without an end of its last line."""
    if text.endswith("\n") is is_ended:
        return text
    if is_ended:
        return text + ("\r\n" if "\r\n" in text else "\n")
    return text[:-1].removesuffix("\r")


def possible_encodings(data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings in which a file's bytes can be a text that nobody has seen.

    Shape: one that a mark tells, or UTF-8, is the only one.
    """
    for one in (*_MARKED, *_UNMARKED[:1]):
        if data.startswith(one.mark) and _decodes(data[len(one.mark) :], one.name):
            return (one,)
    return tuple(one for one in _UNMARKED if _decodes(data, one.name))


def written_in(encoding: Encoding, text: str, sample: bytes) -> bytes | None:
    """Return a text as it is written in the place of a file that held ``sample``; None where the
    encoding lacks a character of it.
    """
    if encoding.mark:
        text = text.removeprefix("\ufeff")
    if "\n" in text and "\r" not in text and _ends(encoding)[0] in sample:
        text = text.replace("\n", "\r\n")
    data = _encoded(text, encoding.name)
    return None if data is None else encoding.mark + data


def _ended_otherwise(text: str) -> str:
    """Return a text with the end of its last line if it lacks one, else without; but an empty last
    line is one more than an editor leaves out."""
    other = ended(text, is_ended=not text.endswith("\n"))
    return text if text.endswith("\n") and other.endswith("\n") else other


def _is_in(encoding: Encoding, text: str, data: bytes) -> bool:
    """Say whether a file's bytes are this text in the encoding."""
    if not data.startswith(encoding.mark):
        return False
    made = _encoded(text.removeprefix("\ufeff") if encoding.mark else text, encoding.name)
    found = data[len(encoding.mark) :]
    if made is not None and "\r" not in text:
        found = found.replace(*_ends(encoding))
    return made == found


def _ends(encoding: Encoding) -> tuple[bytes, bytes]:
    """Return CR LF and LF."""
    return "\r\n".encode(encoding.name), "\n".encode(encoding.name)


def _plain(text: str) -> Collection[Encoding]:
    return (_UTF_8,) if text.isascii() else _UNMARKED


def _encoded(text: str, name: str) -> bytes | None:
    errors = "surrogateescape" if name == "utf-8" else "strict"
    try:
        return text.encode(name, errors)
    except UnicodeEncodeError:
        return None


def _decodes(data: bytes, name: str) -> bool:
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True
