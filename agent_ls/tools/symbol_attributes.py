"""Attributes of C and C++, which stand before, in and behind a definition and are part of it. Pure.

What stands in its body is none of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_ls.domain.symbols import Symbol
from agent_ls.syntax.languages import Language
from agent_ls.syntax.outline import outline_of

_OPENS = re.compile(r"(__attribute(?:__)?\s*\(\s*\(|__declspec\s*\(|\[\[)|\balignas(?=\s*\()")
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def lost_around(text: str, start: int, symbol: Symbol, new: str, language: Language) -> list[str]:
    """Return the attributes that a definition has from ``start`` on and its new text has not.

    Shape: as they are written; of one that names several and keeps some, those that are gone. With
    them comes the name behind the body of a typedef, without which it defines no type.
    """
    if language.id not in ("c", "cpp"):
        return []
    had = [*_attributes(_without_body(text, start, symbol.end, symbol.body))]
    names_behind = _lost_names(text, symbol, new)
    if not had:
        return names_behind
    now = next(iter(outline_of(new, language) or ()), None)
    body = now.body if now is not None else None
    has = {key for _, names in _attributes(_without_body(new, 0, len(new), body)) for key in names}
    found: list[str] = []
    for written, names in had:
        gone = [names[key] for key in names if key not in has]
        if gone:
            found.append(written if len(gone) == len(names) else ", ".join(gone))
    return [*dict.fromkeys(found), *names_behind]


def _lost_names(text: str, symbol: Symbol, new: str) -> list[str]:
    """Return what a typedef names behind its body, where nothing is named behind the new one."""
    if symbol.body is None or "}" not in new:
        return []
    behind, now = (
        _plain(part) for part in (text[symbol.body[1] : symbol.end], new[new.rfind("}") + 1 :])
    )
    return [behind] if behind and not now else []


def _plain(code: str) -> str:
    """Return code without comments, attributes and the semicolon behind it."""
    code = _NO_CODE.sub(" ", code)
    while (match := _OPENS.search(code)) is not None:
        code = f"{code[: match.start()]} {code[_closed(code, match.start()) :]}"
    return " ".join(code.split()).rstrip("; ")


def _without_body(text: str, start: int, end: int, body: tuple[int, int] | None) -> str:
    """Return the code of a definition outside of its body."""
    parts = [text[start:end]] if body is None else [text[start : body[0]], text[body[1] : end]]
    return " ".join(_NO_CODE.sub(" ", part) for part in parts)


def _attributes(code: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each attribute as it is written, with what it names, without blanks and as written."""
    at = 0
    while (match := _OPENS.search(code, at)) is not None:
        at = _closed(code, match.start())
        written = " ".join(code[match.start() : at].split())
        names = _parted(code[match.end() : at]) if match[1] else [written]
        yield written, {_key(one): one for one in names}


def _closed(code: str, at: int) -> int:
    """Return where the first brackets from here on are closed."""
    open_ones = 0
    for place in range(at, len(code)):
        if code[place] in "([":
            open_ones += 1
        elif code[place] in ")]":
            open_ones -= 1
            if not open_ones:
                return place + 1
    return len(code)


def _parted(inside: str) -> list[str]:
    """Return what an attribute names, of the code from behind what opens it."""
    found = [""]
    depth = 0
    for one in inside:
        depth += (one in "([") - (one in ")]")
        if depth < 0:
            break
        if one == "," and not depth:
            found.append("")
        else:
            found[-1] += one
    return [" ".join(one.split()) for one in found if one.strip()]


def _key(name: str) -> str:
    """Return a name that is the same however it is spelled, as ``packed`` and ``__packed__``."""
    return re.sub(r"^__(\w+?)__(?=$|\()", r"\1", "".join(name.split()))
