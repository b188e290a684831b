"""The bytes that an editor may write for a text. Pure.

No protocol tells a server an editor's encoding or line ends for a file, so they are inferred.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection
from typing import NamedTuple


class Encoding(NamedTuple):
    """A codec, by its Python name, and the byte order mark before the text, maybe empty."""

    mark: bytes
    name: str


_MARKED = (
    Encoding(codecs.BOM_UTF8, "utf-8"),
    Encoding(codecs.BOM_UTF16_LE, "utf-16-le"),
    Encoding(codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Encodings recognised by their byte order mark."""
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
"""Encodings without a mark; those of one script write most letters alike."""


def encodings_of(text: str, data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings in which a file's bytes are exactly this text, as an editor shows it.

    Shape: the editor may hide the byte order mark and the file's line ends. Empty if the file
    holds another text or its encoding is not known here.
    """
    for one in (_UTF_8, _MARKED[0]):
        if data == one.mark + text.encode("utf-8", "surrogatepass"):
            return (one,)
    return tuple(one for one in (*_plain(text), *_MARKED) if _is_in(one, text, data))


def held_as(text: str, data: bytes) -> tuple[str, tuple[Encoding, ...]]:
    """Return the text of a file that an editor shows as ``text``, and its possible encodings.

    Shape: an empty pair if the bytes hold another text.

    Use it only right after the editor read or wrote the file. Some editors silently add a final
    line end; some show mixed line ends as CR LF in all lines. If the buffer was typed in since,
    use ``encodings_of``: then a changed line end may be the user's or an edit's.
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
    """Return a text with or without a final line end."""
    if text.endswith("\n") is is_ended:
        return text
    if is_ended:
        return text + ("\r\n" if "\r\n" in text else "\n")
    return text[:-1].removesuffix("\r")


def possible_encodings(data: bytes) -> tuple[Encoding, ...]:
    """Return the encodings that can decode a file's bytes, when its text is not known.

    Shape: only one if the file has a byte order mark or is valid UTF-8.
    """
    for one in (*_MARKED, *_UNMARKED[:1]):
        if data.startswith(one.mark) and _decodes(data[len(one.mark) :], one.name):
            return (one,)
    return tuple(one for one in _UNMARKED if _decodes(data, one.name))


def written_in(encoding: Encoding, text: str, sample: bytes) -> bytes | None:
    """Return the bytes of a text that replaces ``sample``, with the file's mark and line ends.

    Shape: None if the encoding lacks a character of the text.
    """
    if encoding.mark:
        text = text.removeprefix("\ufeff")
    if "\n" in text and "\r" not in text and _ends(encoding)[0] in sample:
        text = text.replace("\n", "\r\n")
    data = _encoded(text, encoding.name)
    return None if data is None else encoding.mark + data


def _ended_otherwise(text: str) -> str:
    """Return a text with its final line end added or removed.

    Unchanged if it ends with two, since editors do not remove an empty last line.
    """
    other = ended(text, is_ended=not text.endswith("\n"))
    return text if text.endswith("\n") and other.endswith("\n") else other


def _is_in(encoding: Encoding, text: str, data: bytes) -> bool:
    """Tell whether a file's bytes are this text in the encoding."""
    if not data.startswith(encoding.mark):
        return False
    made = _encoded(text.removeprefix("\ufeff") if encoding.mark else text, encoding.name)
    found = data[len(encoding.mark) :]
    if made is not None and "\r" not in text:
        found = found.replace(*_ends(encoding))
    return made == found


def _ends(encoding: Encoding) -> tuple[bytes, bytes]:
    """Return CR LF and LF in the encoding."""
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
