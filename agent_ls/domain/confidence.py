"""How sure a model says that it is: the number in its words, from 0 to 1. Check and store read it.

Models are asked for 0.0 to 1.0 and also answer "85%", "9/10" or "7 out of 10". Of a bare number
above 1 the size tells the scale: tenths up to 10, per cent up to 100. Unreadable is 0.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = (
    r"(?<![\w.,-])(?P<n>\d{1,3}(?:[.,]\d+)?|[.,]\d+)(?!\d|[.,]\d)"
    r"(?:\s*(?P<percent>%|per ?cent\b)|\s*(?:/|out of)\s*(?P<scale>\d{1,3})\b)?"
)
_NAMED = re.compile(
    rf"\b(?:confidence|confident|certainty|probability|score)\b[^\d\n]{{0,20}}?{_NUMBER}", re.I
)
_ANY = re.compile(_NUMBER, re.IGNORECASE)
_ALONE = re.compile(rf"[\s*`(\"']*{_NUMBER}[\s*`)\"'.]*(?:\n|$)", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
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
    """Return the confidence that the words name, and what else was said."""
    words = _ITEM.sub("", _FENCE.sub("", said)).strip()
    named, alone = list(_NAMED.finditer(words)), _ALONE.match(words)
    for match in (*named, *([alone] if alone else []), *_ANY.finditer(words)):
        score = _score(match, may_be_bare=match.re is not _ANY)
        if score is not None:
            start, end = match.start("n"), max(match.end("n"), match.end("percent"))
            rest = words[:start] + words[max(end, match.end("scale")) :]
            return Judgement(score, " ".join(rest.split()))
    return Judgement(0.0, " ".join(words.split()))


def _score(match: re.Match[str], *, may_be_bare: bool) -> float | None:
    """Return what a number means on the scale from 0 to 1; None: it is none of a confidence."""
    value = float(match["n"].replace(",", "."))
    scale = 1.0
    if match["percent"]:
        scale = 100.0
    elif match["scale"]:
        scale = float(match["scale"])
    elif value >= 2 and may_be_bare:
        scale = 10.0 if value <= 10 else 100.0
    return value / scale if scale and value <= scale else None
