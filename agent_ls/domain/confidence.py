"""How a model says how sure it is: the number in its words. One reading for check and store.

Models are asked for 0.0 to 1.0 and answer in other scales too. A per cent sign, "n/m" and "n out
of m" say their scale. Of a bare number above 1 the size does: 2 to 10 are tenths, more up to 100
are per cent. Between 1 and 2 it could be anything, so it counts as unreadable, which is 0.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DIGITS = r"(?<![\d.,\-])(?:\d{1,3}(?:[.,]\d+)?|[.,]\d+)(?![\d]|[.,]\d)"
_OF = rf"{_DIGITS}\s*(?:/|out of)\s*{_DIGITS}"
_PERCENT = rf"{_DIGITS}\s*(?:%|per ?cent\b|pct\b)"
_FRACTION = r"(?<![\d.,\-])(?:0?[.,]\d+|1[.,]0+)(?![\d%]|[.,]\d|\s*%)"
_SCALED = rf"{_OF}|{_PERCENT}"
_FORMS = tuple(
    re.compile(words, re.IGNORECASE | re.MULTILINE)
    for words in (
        # After its name.
        r"\b(?:confidence|confident|certainty|probability|score)\b[\w\s\"'*`]{0,20}?"
        rf"(?:[:=]|\bis\b|\bof\b|\bat\b)[\s\"'*`(]*(?P<n>{_SCALED}|{_DIGITS})",
        # At the beginning.
        rf"\A[\s\"'*`(~≈]*(?P<n>{_SCALED}|{_DIGITS})",
        # Anywhere, where its form says that it is one.
        rf"(?P<n>{_SCALED}|{_FRACTION})",
        # Alone on a line, or the end of the scale.
        rf"^[\s\"'*`(]*(?P<n>{_DIGITS})[\s\"'*`).]*$",
        r"(?<![\d.,\-])(?P<n>[01])(?![\d%]|[.,]\d)",
    )
)
_ITEM = re.compile(r"^[ \t]*\d+[.)][ \t]+(?=\S)", re.MULTILINE)
"""The number of a list's item says nothing."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_LEVEL = re.compile(
    r"\A\W*(?:(?:my )?confidence\W+(?:is )?)?(?:very )?(?P<level>high|medium|moderate|low)\b",
    re.IGNORECASE,
)
_MAX_SCALE = 100
_LEVELS = {"high": 0.8, "medium": 0.5, "moderate": 0.5, "low": 0.2}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model said about its confidence."""

    score: float
    """From 0 to 1; 0.0 when there was none to be read."""
    reason: str
    """The other words, on one line."""


def judgement_in(said: str) -> Judgement:
    """Return the confidence that the words name, and what else was said."""
    words = _ITEM.sub("", _FENCE.sub("", said))
    for score, start, end in _numbers(words):
        return Judgement(score, _line(words[:start] + words[end:]))
    if level := _LEVEL.match(words):
        return Judgement(_LEVELS[level["level"].lower()], _line(words))
    return Judgement(0.0, _line(words))


def confidence_of(value: object) -> float:
    """Return the confidence that a JSON value names, from 0 to 1; 0.0 when it names none."""
    if isinstance(value, float):
        # An exponent would be read as a number of its own.
        return judgement_in(f"{value:f}").score
    is_read = isinstance(value, str | int) and not isinstance(value, bool)
    # Longer numbers are on no scale, and Python refuses to print very long ones.
    is_short = not isinstance(value, int) or abs(value) <= _MAX_SCALE
    return judgement_in(str(value)).score if is_read and is_short else 0.0


def _numbers(words: str) -> Iterator[tuple[float, int, int]]:
    """Yield scores with their places, the likeliest first."""
    for form in _FORMS:
        for match in form.finditer(words):
            if (score := _score(match["n"])) is not None:
                yield score, match.start("n"), match.end("n")


def _score(number: str) -> float | None:
    """Return what a number means on the scale from 0 to 1; None: nothing there."""
    parts = [float(one.replace(",", ".")) for one in re.findall(_DIGITS, number)]
    value = parts[0]
    if len(parts) > 1:
        scale = parts[1]
    elif not number[-1].isdigit():
        scale = 100.0
    elif value <= 1:
        scale = 1.0
    else:
        scale = 10.0 if value <= 10 else 100.0
        if value < 2:
            return None
    return value / scale if scale > 0 and value <= scale else None


def _line(text: str) -> str:
    return " ".join(text.split())
