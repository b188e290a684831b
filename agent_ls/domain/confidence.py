"""How a model says how sure it is: the number in its words. One reading for check and store."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\d.\-])(?:0?\.\d+|[01](?:\.\d+)?)(?![\d%]|\.\d)")
_ITEM = re.compile(r"^[ \t]*\d+[.)][ \t]+(?=\S)", re.MULTILINE)
"""The number of a list's item says nothing."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model said about its confidence."""

    score: float
    """From 0 to 1; 0.0 when there was none to be read."""
    reason: str
    """The other words, on one line."""


def judgement_in(said: str) -> Judgement:
    """Return the first number between 0 and 1, and what else was said."""
    words = _ITEM.sub("", said)
    for match in _NUMBER.finditer(words):
        if (score := float(match[0])) <= 1.0:
            rest = words[: match.start()] + words[match.end() :]
            return Judgement(score, " ".join(rest.split()))
    return Judgement(0.0, " ".join(words.split()))
