"""Says what is wrong with a key or header as the user gave it, and takes keys out of error texts.

No text from here holds any part of a key.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote

_MASK = "[key]"
_MIN_CHARS = 6
"""A shorter key is a word like ``none`` or ``dummy``, given to a server that needs no key."""
_MIN_SHOWN = 3
"""Fewer letters at the ends of a key that is cut out may be no key's."""
_PART_CHARS = 8
"""A shorter part of a key may as well be a word of the text."""
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u201e\xab\xbb"
_SCHEME = re.compile(r"(?:bearer|basic|token|authorization:?|x-api-key:?)\s", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"<.*>|\[.*\]|\{.*\}|\$\w+|\$[{(].*[})]|%\w+%|(?:sk-)?(?:\.{3,}|\*+)"
    r"|.*(?<![a-z])your[-_ ]?[\w -]{0,30}?(?:key|token|secret)(?![a-z]).*"
    r"|(?:paste|insert|replace|enter|put)[-_ ].*(?:key|here|me)",
    re.IGNORECASE | re.DOTALL,
)
# Bounded, as a run without end would be read once from each of its characters.
_ELIDED = re.compile(r"([\w+/=.~-]{0,256}?)(?:\*{2,}|\.{3,}|…|•{2,})([\w+/=~-]*)")


def key_problem(key: str) -> str:
    """Return what is wrong with a key, as words that follow its place; empty: nothing.

    Space around the key is no problem; the caller strips it.
    """
    key = key.strip()
    if key[:1] in _QUOTES and key[:1]:
        return "begins with a quotation mark, which is no part of a key: take the quotes away"
    if _SCHEME.match(key):
        return "begins with the name of a scheme or header, such as Bearer: give the key alone"
    if problem := header_problem(key):
        return problem
    if key[-1:] in _QUOTES and key[-1:]:
        return "ends with a quotation mark, which is no part of a key: take the quotes away"
    if _PLACEHOLDER.fullmatch(key):
        return "holds a placeholder instead of a key: put the key itself there"
    if match := re.search(r"\s", key):
        return f"holds a space after {_characters(match.start())}: {_AGAIN}"
    return ""


def header_problem(value: str) -> str:
    """Return why a text cannot be sent in a header, as words that follow its place."""
    for at, char in enumerate(value.strip()):
        if kind := _kind(char):
            return f"holds {kind} after {_characters(at)}: {_AGAIN}"
    return ""


def without_keys(text: str, keys: Iterable[str]) -> str:
    """Return the text with ``[key]`` in place of the keys, in any form, and of parts of them."""
    for key in keys:
        if len(key) < _MIN_CHARS:
            continue
        for form in sorted(_forms(key), key=len, reverse=True):
            text = text.replace(form, _MASK)
        text = _without_parts(text, key)
        text = _ELIDED.sub(lambda match, key=key: _elided(match, key), text)
    return text


_AGAIN = "copy it once more, as plain text"


def _kind(char: str) -> str:
    if char in "\r\n\v\f\x85\u2028\u2029":
        return "a line end"
    if char == "\t" or (char.isascii() and char.isprintable()):
        return ""
    category = unicodedata.category(char)
    if category == "Cc":
        return "a control character"
    return "an invisible character" if category[0] in "CZ" else "a character outside ASCII"


def _characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"


def _forms(key: str) -> set[str]:
    """Return the ways in which libraries write a key into their texts."""
    data = key.encode(errors="replace")
    forms = {key, quote(key, safe=""), json.dumps(key)[1:-1], repr(key)[1:-1], repr(data)[2:-1]}
    forms |= {base64.b64encode(data).decode(), data.hex()}
    return {form for form in forms if len(form) >= _MIN_CHARS}


def _without_parts(text: str, key: str) -> str:
    parts = {key[at : at + _PART_CHARS] for at in range(len(key) - _PART_CHARS + 1)}
    kept: list[str] = []
    covered = 0
    for at, char in enumerate(text):
        if text[at : at + _PART_CHARS] in parts:
            if covered <= at:
                kept.append(_MASK)
            covered = at + _PART_CHARS
        if at >= covered:
            kept.append(char)
    return "".join(kept)


def _elided(match: re.Match[str], key: str) -> str:
    """Return the mask for a key whose middle was left out, such as ``sk-a***9f``."""
    first, last = match[1], match[2]
    if not key.endswith(last):
        return match[0]
    # A name such as ``key=`` or an address may stand right before it.
    kept = next((at for at in range(len(first) + 1) if key.startswith(first[at:])), len(first))
    shown = len(first) - kept
    return f"{first[:kept]}{_MASK}" if shown + len(last) >= _MIN_SHOWN else match[0]
