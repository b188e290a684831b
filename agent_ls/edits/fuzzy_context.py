"""Classify how a quoted line changed in the file, and how much certainty each change costs.

Similarity alone is no evidence: the table tells a changed line from a different line.
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
"""- grown: something was added to the line.
- reworded: one word or one piece of it differs.
- rewritten: most of it is the same, or it sets something else.
- gone: nothing is in its place.
- another: a different line, another block's head, or a copy with other numbers, flags or signs.
"""

COSTS: dict[Fate, tuple[float, float]] = {
    "grown": (0.25, 0.25),
    "reworded": (0.5, 1),
    "gone": (1, 1.25),
    "rewritten": (1, 2.5),
    "another": (math.inf, math.inf),
}
"""Cost between two lines that occur only once in the file, and cost outside of such a pair."""
_MIN_LETTERS = 4
_MIN_ALIKE = 60.0
_WORD = re.compile(r"[\w$]+")
_NUMBER = re.compile(r"\d+|\b(?:[A-Za-z]|[Tt]rue|[Ff]alse|yes|no|on|off)\b")
"""Single letters and flags count as numbers."""
_SIGN = re.compile(r"(?<![-+*/%&|^<>=!~])[-+*/%&|^<>=!~]{1,3}(?![-+*/%&|^<>=!~])")
_HEADER = re.compile(
    r"^(?:[a-z]+ )*(?:(?:def|class|function\*?|func|fn|struct|interface|enum|trait|impl|module|"
    r"namespace|type)(?=\s+[\w$(*&<])|(?:describe|it|test|section|case)\b(?!-|\s*[=.,]))"
)
_CALL = re.compile(r"(?:describe|it|test|section|case)\b")
_RECORD = re.compile(r"^\[.*\]$|^WHERE\b|^(?:- )?[\"']?(?:id|name|key)[\"']?[ \t]*[:=]")
"""A line that identifies one of several similar records."""
_HEAD = re.compile(
    r"^<\w|^- [\"']?[\w-]+[\"']?:|\bfunction\b|\)$|\b(?:do|then|begin|of|is|as)$|^[A-Z]+ \w+$"
)
_GOES_ON = re.compile(r"[.+&|?=*/]")
"""Start of a line that continues an expression, so the line above opens no block."""
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

    ``is_beyond`` says that another block may begin here, so a head counts like any other line.
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
    """Tell whether the line heads a block, so that a different line means a different block."""
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
    """Tell whether the new line begins with the whole old head."""
    said = line.rstrip(" ){:")
    return now.startswith(said) and not (_WORD.match(said[-1:]) and _WORD.match(now[len(said) :]))


def _sets_another(line: str, now: str) -> bool:
    """Tell whether both lines set something, and set different things."""
    ours, theirs = _SETS.match(line), _SETS.match(now)
    return ours is not None and theirs is not None and ours[1] != theirs[1]


def _has_other_signs(line: str, now: str) -> bool:
    """Tell whether both lines have the same words but other operators."""
    words = _WORD.findall(line)
    return words == _WORD.findall(now) != [] and _SIGN.findall(line) != _SIGN.findall(now)


def _has_more(line: str, now: str) -> bool:
    """Tell whether the second line is the first with one piece inserted."""
    if sum(char.isalnum() for char in line) < _MIN_LETTERS:
        return False
    head = _common(line, now)
    return head + _common(line[head:][::-1], now[head:][::-1]) == len(line)


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _other_words(line: str, now: str) -> int:
    words, theirs = _WORD.findall(line), _WORD.findall(now)
    return sum(map(str.__ne__, words, theirs)) if len(words) > 1 else 0
