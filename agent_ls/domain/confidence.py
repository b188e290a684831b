"""Reads the confidence, from 0 to 1, from a model's answer.

Models are asked for 0.0 to 1.0 and also answer "85%", "9/10" or "7 out of 10". A bare number of 2
or more is read as tenths up to 10, and as per cent up to 100. Unreadable is 0.0.
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
"""The number of a list item is not a score."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A model's confidence and its reason."""

    score: float
    """From 0 to 1; 0.0 when unreadable."""
    reason: str
    """The remaining text, on one line."""


def judgement_in(said: str) -> Judgement:
    """Return the confidence in the text, and the remaining text as its reason."""
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
    """Return the number scaled to 0 to 1; None if it cannot be a confidence."""
    value = float(match["n"].replace(",", "."))
    scale = 1.0
    if match["percent"]:
        scale = 100.0
    elif match["scale"]:
        scale = float(match["scale"])
    elif value >= 2 and may_be_bare:
        scale = 10.0 if value <= 10 else 100.0
    return value / scale if scale and value <= scale else None
