"""What became of one line of context that the file has otherwise than the old text.

Owns when two lines are one and the same line, changed by someone, and not two that are alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from rapidfuzz import fuzz

from agent_ls.edits.heads import Head, heads_a_block, names_a_place, sets_a_number
from agent_ls.edits.keys import stripped

Fate = Literal["grown", "reworded", "renumbered", "rewritten", "gone", "replaced", "another"]
"""Something was added to the line; one word of it, or a piece, is another; its numbers, flags or
signs alone are; most of it is the same, or all but its words; nothing is in its place; another line
is; or it told which block this is, and now tells another."""

_MIN_LETTERS = 4
_MIN_ALIKE = 60.0
"""A line less alike than this was not changed by someone: it is another one."""
_WORD = re.compile(r"[\w$]+")
_NUMBER = re.compile(r"\d+|\b(?:[A-Za-z]|[Tt]rue|[Ff]alse|yes|no|on|off)\b")
"""A letter by itself counts as one, and so does a flag."""
_SIGN = re.compile(r"(?<![-+*/%&|^<>=!~])[-+*/%&|^<>=!~]{1,3}(?![-+*/%&|^<>=!~])")
_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
_AFTER_NAME = " ){:"


@dataclass(frozen=True, slots=True)
class Drift:
    """An old line that the file has otherwise."""

    fate: Fate
    line: int | None
    """The number of the file line that it became."""
    is_renamed: bool = False
    """What it sets has another name."""
    has_likes: bool = False
    """Other lines of the file are like it but for one word."""
    head: Head = ""
    """Whether a block begins at it, which the file's line does not begin for sure."""


def fate_of(
    line: str, there: Sequence[str], below: Sequence[str] = (), *, is_beyond: bool = False
) -> Fate:
    """Return what became of a line, ``there`` being what the file has in its place.

    ``below`` are the lines that follow it in the old text, or in the file behind its end. What
    begins beyond all that changes tells nothing of the block that is changed.
    """
    is_name = not is_beyond and (names_a_place(stripped(line)) or heads_a_block(line, below))
    line = stripped(line)
    if not there:
        return "another" if is_name else "gone"
    now = max((stripped(one) for one in there), key=lambda one: fuzz.ratio(line, one))
    if is_name:
        return "grown" if len(there) == 1 and _goes_on(line, now) else "another"
    if len(there) == 1:
        if _NUMBER.sub("0", line) == _NUMBER.sub("0", now) or _has_other_signs(line, now):
            return "reworded" if sets_a_number(line) else "renumbered"
        if _has_more(line, now):
            return "grown" if _has_all_words(line, now) else "reworded"
        if _has_more(now, line) or _differs_in_a_word(line, now):
            return "reworded"
    is_alike = fuzz.ratio(line, now) >= _MIN_ALIKE or (len(there) == 1 and _is_framed(line, now))
    return "rewritten" if is_alike else "replaced"


def has_likes(line: str, lines: Sequence[str], there: int | None) -> bool:
    """Tell whether lines of a file, but for one, are like a line in all but a word or a text."""
    line = stripped(line)
    frame, bare = _WORD.sub("w", line), _TEXT.sub("t", line)
    return any(
        (_TEXT.sub("t", one) == bare != one)
        or (_WORD.sub("w", one) == frame and _differs_in_a_word(line, one))
        for number, one in enumerate(map(stripped, lines))
        if number != there
    )


def _goes_on(line: str, now: str) -> bool:
    """Tell whether a line that names a place still begins with all that it says."""
    said = line.rstrip(_AFTER_NAME)
    return now.startswith(said) and not (_WORD.match(said[-1:]) and _WORD.match(now[len(said) :]))


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


def _has_all_words(line: str, now: str) -> bool:
    """Tell whether each word of the line is one of the other's, in order."""
    theirs = iter(_WORD.findall(now))
    return all(word in theirs for word in _WORD.findall(line))


def _common(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _differs_in_a_word(line: str, now: str) -> bool:
    words, theirs = _WORD.findall(line), _WORD.findall(now)
    return _is_framed(line, now) and len(words) > 1 and sum(map(str.__ne__, words, theirs)) == 1


def _is_framed(line: str, now: str) -> bool:
    """Tell whether both lines are the same but for their words."""
    return _WORD.sub("w", line) == _WORD.sub("w", now)
