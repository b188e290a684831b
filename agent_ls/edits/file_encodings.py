"""The encoding of a file on disk, from its bytes. Pure.

Known by its byte order mark, as UTF-8, by a declaration, or by a guess that is the same whatever
part of the world the file is assumed to come from. Else it is not known.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from chardetng_py import EncodingDetector  # pyright: ignore[reportMissingTypeStubs]

from agent_ls.edits.encodings import Encoding

UTF_8 = Encoding(b"", "utf-8")
_MARKED = (
    Encoding(codecs.BOM_UTF8, "utf-8"),
    Encoding(codecs.BOM_UTF16_LE, "utf-16-le"),
    Encoding(codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD_BYTES = 1_024
_DECLARED = re.compile(
    rb"""\A(?:[^\n]*\n)?[^\n]*?(?:\#|//|/\*|<!--|--|;|"|%|\(\*)[^\n]*?coding[:=][ \t]*([-\w.]+)"""
    rb"""|\A\s*<\?xml[^>]*?\sencoding=["']([-\w.]+)"""
    rb"""|\A@charset "([-\w.]+)";"""
    rb"""|<meta\s[^>]*?charset=["']?([-\w.]+)""",
    re.IGNORECASE,
)
_MAX_GUESSED_BYTES = 2**18
_REGIONS = (
    *("com", "de", "pl", "ro", "ee", "is", "tr", "ru", "ua", "gr", "il", "eg"),
    *("th", "vn", "jp", "cn", "tw", "kr"),
)
"""Domains of the regions whose encodings differ."""
_MOST = 10
"""A guess is certain if it is the one for so many of these regions, and without a region. With
less, wrong ones were among those for single words in the encodings of DOS and Japan."""
_FEW = 8
"""Fewer unusual bytes are too few to tell Greek from Cyrillic."""
_TOLD_BY_FEW = ("cp1252", "cp932", "cp949", "big5hkscs", "gb18030", "euc-jp")
_SHIFTED = re.compile(
    r"(?<=\w)[\u201a\u201c-\u201e\u2020-\u2022\u02c6\u02dc\u2030\u2039\u203a\xa1-\xa8](?=\w)"
)
"""What the letters of DOS are in the encodings of Windows: such signs do not stand in words."""
_PRINTABLE = bytes(range(32, 127))
_ODD = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


def encoding_of(data: bytes, declared: str = "") -> Encoding | None:
    """Return a file's encoding; None if it is not certain, or the file is no text.

    Shape: ``declared`` is what the project says of the file. Decoding and encoding give the bytes.
    """
    for one in _MARKED:
        if data.startswith(one.mark) and _is_lossless(data[len(one.mark) :], one.name):
            return one
    if is_utf8(data):
        return UTF_8
    for name in (declared, _declared_in(data)):
        codec = python_name(name)
        is_likely = bool(codec) and (b"\0" not in data or codec.startswith("utf-16"))
        if is_likely and _is_lossless(data, codec):
            return Encoding(b"", codec)
    return None if b"\0" in data else _guessed(data)


def is_utf8(data: bytes) -> bool:
    """Say whether bytes are text in UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def text_in(encoding: Encoding, data: bytes) -> str:
    """Return the text of a file's bytes, without its byte order mark."""
    return data[len(encoding.mark) :].decode(encoding.name)


@lru_cache(maxsize=200)
def python_name(name: str) -> str:
    """Return Python's name of an encoding that a project may declare; empty for none."""
    plain = re.sub(r"^(windows|cp)-?(?=\d)", "cp", name.strip().lower())
    try:
        found = codecs.lookup(plain).name
        if found in ("utf-16-le", "utf-16-be"):
            return found
        if found in ("utf-8", "utf-8-sig", "ascii") or "escape" in found:
            return ""
        # What reads signs of plain text as something else is no encoding of source files.
        return found if _PRINTABLE.decode(found) == _PRINTABLE.decode("ascii") else ""
    except (LookupError, UnicodeError, ValueError):
        return ""


def _declared_in(data: bytes) -> str:
    """Return the encoding that a text says of itself: in a comment, as XML, HTML or CSS."""
    found = _DECLARED.search(data[:_HEAD_BYTES])
    return next((one.decode() for one in found.groups() if one), "") if found else ""


def _guessed(data: bytes) -> Encoding | None:
    """Return the encoding that most regions of the world agree on."""
    detector = EncodingDetector()
    # Plain text says nothing.
    unusual = b"\n".join(_unusual_lines(data))
    detector.feed(unusual, last=True)
    guess = _in_python(detector.guess(tld=None, allow_utf8=False))
    text = _decoded(data, guess)
    if text is None or not _is_lossless(data, guess):
        return None
    if _ODD.search(text) or _SHIFTED.search(text):
        return None
    if guess not in _TOLD_BY_FEW and sum(byte > 0x7F for byte in unusual) < _FEW:
        return None
    others = [_in_python(detector.guess(tld=one.encode(), allow_utf8=False)) for one in _REGIONS]
    same = {one: one == guess or _decoded(data, one) == text for one in set(others)}
    return Encoding(b"", guess) if sum(same[one] for one in others) >= _MOST else None


def _unusual_lines(data: bytes) -> list[bytes]:
    found: list[bytes] = []
    room = _MAX_GUESSED_BYTES
    for line in data.split(b"\n"):
        if not line.isascii():
            found.append(line[:room])
            room -= len(line) + 1
            if room <= 0:
                break
    return found


def _in_python(name: str) -> str:
    """Return Python's name of an encoding of the Web, or the one that has all its characters."""
    return {"Shift_JIS": "cp932", "EUC-KR": "cp949", "Big5": "big5hkscs"}.get(
        name, re.sub(r"^windows-", "cp", name).lower()
    )


def _decoded(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _is_lossless(data: bytes, name: str) -> bool:
    """Say whether bytes are a text in this encoding, which can be written as it was."""
    text = _decoded(data, name)
    if text is None or "\0" in text:
        return False
    try:
        return text.encode(name) == data
    except UnicodeEncodeError:
        return False
