"""What stands before a definition's own words, and is gone when new text does not repeat it."""

from __future__ import annotations

import re
from collections import Counter

from agent_ls.syntax.languages import Language

_DECORATOR = re.compile(r"@(?!interface\b)[\w.:$]+(?:\s*(?=\())?|#!?(?=\[)")
_WORDS = {
    "ecmascript": re.compile(r"(?:export|declare)\b(?:\s+(?:default|declare)\b)?"),
    "bash": re.compile(r"(?:export|declare|readonly|typeset|local)\b(?:\s+-\w+)*"),
    "cpp": re.compile(r"template\b"),
}
"""By the folder of a language's queries: words before a definition that say something of it."""
_ATTRIBUTE = re.compile(r"__attribute__|__declspec|\[\[\w+(?:::\w+)?\]\]|\balignas\b|\btypedef\b")
"""In C and C++ these stand before, in and behind a definition."""
_COMMENTED = re.compile(r"/\*.*?\*/\s*")
_PYTHONS_COMMENT = re.compile(r"\s+#.*")
_COMMENTS = ("//", "/*", "*", "#")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def lost(old: str, new: str, language: Language) -> list[str]:
    """Return the decorators, attributes and words like ``export`` that only the old text has.

    Shape: as they are written, without the comments behind them; of one that goes on in further
    lines only the first.
    """
    had, words = _head(old, language)
    has, now = _head(new, language)
    gone = [one for one in had if one not in has]
    if language.id in ("c", "cpp"):
        left = Counter(_ATTRIBUTE.findall(old)) - Counter(_ATTRIBUTE.findall(new))
        gone += [one for one in left if one not in gone]
    left_out = " ".join(one for one in words if one not in now)
    return [*gone, left_out] if left_out else gone


def _head(text: str, language: Language) -> tuple[list[str], list[str]]:
    """Return the decorators and attributes before the definition itself, and its own words."""
    found: list[str] = []
    for line in text.split("\n"):
        rest = line.strip()
        while one := _first(rest, language) or _commented(rest):
            if not one.startswith("/*"):
                found.append(one)
            # Python's goes to the end of its line, comment and all.
            rest = "" if language.id == "python" else rest[len(one) :].lstrip()
        if rest and not rest.startswith(_COMMENTS):
            patterns = (_WORDS[one] for one in language.outline if one in _WORDS)
            match = next((one for pattern in patterns if (one := pattern.match(rest))), None)
            return found, match.group().split() if match else []
    return found, []


def _commented(line: str) -> str:
    match = _COMMENTED.match(line)
    return match.group() if match else ""


def _first(line: str, language: Language) -> str:
    """Return the decorator or attribute that the line begins with, "" without one."""
    match = _DECORATOR.match(line)
    if match is None:
        return ""
    if language.id == "python":
        return _PYTHONS_COMMENT.sub("", line)
    open_ones: list[str] = []
    quote = ""
    for at in range(match.end(), len(line)):
        one = line[at]
        if quote:
            quote = "" if one == quote else quote
        elif one in "\"'`":
            quote = one
        elif one in _PAIRS:
            open_ones.append(_PAIRS[one])
        elif open_ones and one == open_ones[-1]:
            open_ones.pop()
        if not open_ones:
            # Nothing in brackets follows it, or they are closed.
            return line[: at + 1] if at > match.end() else match.group().rstrip()
    return line
