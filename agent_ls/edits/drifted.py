"""What became of a quoted line that the file has otherwise, and how much certainty that costs.

Likeness of lines alone is no evidence: the table tells a line that someone changed from another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from rapidfuzz import fuzz

from agent_ls.edits.indents import indent_of, width
from agent_ls.edits.keys import stripped

Fate = Literal["grown", "reworded", "rewritten", "gone", "another"]
"""Something was added to the line; one word of it, or a piece, is another; most of it is the same,
or it sets something else; nothing is in its place; another line is there, or the head of another
block, or a copy of the line with other numbers, flags or signs."""

COSTS: dict[Fate, tuple[float, float]] = {
    "grown": (0.25, 0.25),
    "reworded": (0.5, 1),
    "gone": (1, 1.25),
    "rewritten": (1, 2.5),
    "another": (math.inf, math.inf),
}
"""What each costs between two lines that stand nowhere else, and at an end of them."""
_MIN_LETTERS = 4
_MIN_ALIKE = 60.0
_WORD = re.compile(r"[\w$]+")
_NUMBER = re.compile(r"\d+|\b(?:[A-Za-z]|[Tt]rue|[Ff]alse|yes|no|on|off)\b")
"""A letter by itself counts as one, and so does a flag."""
_SIGN = re.compile(r"(?<![-+*/%&|^<>=!~])[-+*/%&|^<>=!~]{1,3}(?![-+*/%&|^<>=!~])")
_HEADER = re.compile(
    r"^(?:[a-z]+ )*(?:(?:def|class|function\*?|func|fn|struct|interface|enum|trait|impl|module|"
    r"namespace|type)(?=\s+[\w$(*&<])|(?:describe|it|test|section|case)\b(?!-|\s*[=.,]))"
)
_CALL = re.compile(r"(?:describe|it|test|section|case)\b")
_RECORD = re.compile(r"^\[.*\]$|^WHERE\b|^(?:- )?[\"']?(?:id|name|key)[\"']?[ \t]*[:=]")
"""A line by which one record is told from others like it."""
_HEAD = re.compile(
    r"^<\w|^- [\"']?[\w-]+[\"']?:|\bfunction\b|\)$|\b(?:do|then|begin|of|is|as)$|^[A-Z]+ \w+$"
)
_GOES_ON = re.compile(r"[.+&|?=*/]")
"""How a line begins that goes on with an expression, and opens no block."""
_UNDERLINE = re.compile(r"^([=\-~^*#+])\1{2,}$")
_SETS = re.compile(
    r"(?!return\b)([^=:(,\"'`]*[\w\])]|[\"'][^\"']*[\"'])[ \t]*(?:[:+*/|&-]?=(?![=>])|:(?![:=]))"
)
"""What a line sets or names: ``x = 1``, ``"x": 1``."""
_OPENERS = ("{", "(", "[", ":")


def fate_of(
    line: str, now: str | None, below: Sequence[str] = (), *, is_beyond: bool = False
) -> Fate:
    """Return what became of a line; ``below`` are the lines that follow it in the old text.

    A block that begins beyond all that changes may be another one.
    """
    is_head = not is_beyond and heads_a_block(line, below)
    line = stripped(line)
    if now is None:
        return "another" if is_head else "gone"
    now = stripped(now)
    if is_head:
        return "grown" if _begins(line, now) else "another"
    if _NUMBER.sub("0", line) == _NUMBER.sub("0", now) or _has_other_signs(line, now):
        return "another"
    if _sets_another(line, now):
        return "rewritten"
    if _has_more(line, now):
        words = iter(_WORD.findall(now))
        return "grown" if all(word in words for word in _WORD.findall(line)) else "reworded"
    is_framed = _WORD.sub("w", line) == _WORD.sub("w", now)
    if _has_more(now, line) or (is_framed and _other_words(line, now) == 1):
        return "reworded"
    return "rewritten" if is_framed or fuzz.ratio(line, now) >= _MIN_ALIKE else "another"


def heads_a_block(line: str, below: Sequence[str]) -> bool:
    """Tell whether a block begins at a line: with another name it is another block."""
    bare, after = stripped(line), next((one for one in below if stripped(one)), "")
    if stripped(after) == "{" or _UNDERLINE.match(after):
        return True
    is_statement = bare.endswith(";") and not _CALL.match(bare)
    if not is_statement and (bare.endswith(_OPENERS) or _HEADER.match(bare) or _RECORD.match(bare)):
        return True
    if re.match(r"#{1,6} ", bare):
        return not below or not stripped(below[0])
    is_deeper = bool(after) and width(indent_of(after)) > width(indent_of(line))
    return is_deeper and bool(_HEAD.search(bare)) and not _GOES_ON.match(stripped(after))


def _begins(line: str, now: str) -> bool:
    """Tell whether a head still begins with all that it says."""
    said = line.rstrip(" ){:")
    return now.startswith(said) and not (_WORD.match(said[-1:]) and _WORD.match(now[len(said) :]))


def _sets_another(line: str, now: str) -> bool:
    """Tell whether both lines set something, and not the same."""
    ours, theirs = _SETS.match(line), _SETS.match(now)
    return ours is not None and theirs is not None and ours[1] != theirs[1]


def _has_other_signs(line: str, now: str) -> bool:
    """Tell whether both say opposite things of the same words."""
    words = _WORD.findall(line)
    return words == _WORD.findall(now) != [] and _SIGN.findall(line) != _SIGN.findall(now)


def _has_more(line: str, now: str) -> bool:
    """Tell whether the second line is the first with one piece put in."""
    if sum(char.isalnum() for char in line) < _MIN_LETTERS:
        return False
    head = _common(line, now)
    return head + _common(line[head:][::-1], now[head:][::-1]) == len(line)


def _common(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _other_words(line: str, now: str) -> int:
    words, theirs = _WORD.findall(line), _WORD.findall(now)
    return sum(map(str.__ne__, words, theirs)) if len(words) > 1 else 0
