"""The bytes that an editor can write for a text. Pure.

No protocol tells a server in which encoding, or with which line ends, an editor keeps a file.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

_MARKED = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Encodings that are told by their byte order mark."""
_UNMARKED = ("utf-8", "latin-1", "cp1252", "iso8859-15", "iso8859-2", "cp1250", "cp1251", "koi8-r")
_UNMARKED_WIDE = ("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr")


def forms(text: str) -> Iterator[bytes]:
    """Yield the bytes that can be a text on disk, the usual ones first, some of them twice."""
    texts = [text]
    if "\n" in text and "\r" not in text:
        # Some editors keep the file's line ends to themselves.
        texts.append(text.replace("\n", "\r\n"))
    for one in texts:
        for mark, name in (*_plain(one), *_MARKED):
            data = _encoded(one, name)
            if data is not None:
                yield mark + data


def written_like(text: str, sample: bytes | None) -> bytes:
    """Return a text as an editor writes it in the place of a file that held ``sample``."""
    like = sample or b""
    if b"\r\n" in like and "\n" in text and "\r" not in text:
        text = text.replace("\n", "\r\n")
    for mark, name in _MARKED:
        if like.startswith(mark) and (data := _encoded(text.removeprefix("\ufeff"), name)):
            return mark + data
    names = [name for name in (*_UNMARKED, *_UNMARKED_WIDE) if _decodes(like, name)]
    for name in (*names, "utf-8"):
        if (data := _encoded(text, name)) is not None:
            return data
    return text.encode("utf-8", "surrogatepass")


def _plain(text: str) -> list[tuple[bytes, str]]:
    names = ("utf-8",) if text.isascii() else (*_UNMARKED, *_UNMARKED_WIDE)
    return [(b"", name) for name in names]


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
