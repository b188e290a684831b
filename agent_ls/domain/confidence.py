"""How a model says how sure it is, in a number or in words. One reader for every judgement.

Models are asked for 0.0 to 1.0 and answer in other scales too. A per cent sign, "n/m" and "n out
of m" say their scale, and "(0-100)" says that of a bare number beside it. Else its size does: 2 to
10 are tenths, more up to 100 are per cent. Between 1 and 2 it could be anything, so it is none.
Of several numbers the one nearest to the word confidence counts. What cannot be read is 0.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent_ls.domain.sentences import one_line

_LEVELS = {
    **dict.fromkeys(("high", "strong", "great", "full"), 0.8),
    **dict.fromkeys(("medium", "moderate", "mid", "middling", "average", "mixed"), 0.5),
    **dict.fromkeys(("low", "weak", "little", "slim"), 0.2),
}
"""What stands with the word confidence: "high confidence", "confidence is low"."""
_DEGREES = {
    **dict.fromkeys(("very", "highly", "fully", "completely", "absolutely", "extremely"), 0.8),
    **dict.fromkeys(("quite", "fairly", "reasonably", "pretty", "really", "am", "m", "feel"), 0.8),
    **dict.fromkeys(("moderately", "somewhat", "half"), 0.5),
    **dict.fromkeys(("hardly", "barely", "slightly"), 0.2),
}
"""What stands before confident, sure and certain: "very confident", "I am sure"."""
_UNSURE, _EVEN = 0.2, 0.5
_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMERALS = {
    **{word: number for number, word in enumerate(_UNITS)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    "hundred": 100,
}
_LESS = 0.01
"""How much *less than* a number is below it."""

_DIGITS = r"(?<![\d.,\-])(?:\d{1,3}(?:[.,]\d+)?|[.,]\d+)(?!\d|[.,]\d)"
_PERCENT = r"(?:%|per ?cent\b|pct\b|prozent\b)"
_NUMBER = re.compile(
    rf"(?P<value>{_DIGITS})(?:(?:[-–]|\s+to\s+)(?P<other>\d{{1,3}}(?:[.,]\d+)?)(?!\d))?"
    rf"(?:\s*(?:/|out of)\s*(?:an?\s+)?(?:possible\s+)?(?P<scale>{_DIGITS})"
    rf"|\s+of\s+(?P<round>100?)\b|\s*(?P<percent>{_PERCENT}))?",
    re.IGNORECASE,
)
"""A number or a range, with the scale that it says."""
_FRACTION = re.compile(r"0*[.,]\d+|1[.,]0+")
_SCALE = re.compile(
    r"[(\[]?(?:\bon\s+)?(?:\ba\s+)?(?:\bscale\s+)?(?:\b(?:from|of|between)\s+)?"
    r"(?<![\d.,%])\b[01](?:[.,]0+)?\s*%?\s*(?:[-–…]|\.\.+|,\s|\bto\b|\band\b)\s*"
    r"(?P<most>1(?:[.,]0+)?(?!0|\s*%)|5(?!\s*%)|10(?!0|\s*%)|100)\s*%?(?!\d|[.,]\d)[)\]]?"
    r"|[(\[]?(?:(?:(?<=[(\[])|\A|(?<![\d\s%])\s)out of|\bscale of)\s+(?P<top>5|100?)\b[)\]]?",
    re.IGNORECASE,
)
"""Words that say the scale of a number that stands elsewhere."""
_SHARE = re.compile(r"[ \t]+of\s+\w")
_COUNT = re.compile(
    r"[ \t]*(?:done|complete\w*|finished|coverage|pass(?:es|ed|ing)?)\b"
    r"|[ \t]*(?:(?:failing|failed|open|unit|changed|remaining|required|more|other|new)\s+)?"
    r"(?:tests?|steps?|files?|checks?|criteri\w+|cases?|items?|tasks?|lines?|errors?|failures?"
    r"|warnings?|modules?|functions?|commands?|minutes?|seconds?|hours?|attempts?|tries|runs?"
    r"|issues?|times|commits?)\b",
    re.IGNORECASE,
)
"""Behind a number that counts something else."""
_NOT = re.compile(
    r"(?:\b(?:not|never|no|cannot|rather than|instead of|far from|nowhere near|nicht|keine?|pas|"
    r"não|не)\b|n['’]t\b|[不没])"
    r"(?:\s+(?:quite|even|really|exactly|yet|nearly|at|all|an?|the|about|so|as|high|near|close|"
    r"anywhere|to|be|is|it|i|would|say|give|call|put|go|think|claim|fully|completely|my|over|"
    r"above)\b)*[\s\"'*`(~≈]*\Z",
    re.IGNORECASE,
)
_BELOW = re.compile(r"(?:\b(?:less|lower) than|\b(?:below|under)|<)[\s\"'*`(~≈]*\Z", re.IGNORECASE)
_MAX_BEFORE = 120
"""Characters before a number in which it may be negated."""
_NAME = re.compile(
    r"\b(?:confidence|confident|certainty|certain|sure|probability|likelihood|score)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"[^.,;!?\n]{0,40}?(?:[:=|]|\b(?:is|at|was|around|about|roughly|near)\b)[\s\"'*`(|~≈<]*"
    r"(?:(?:at|only|now|just|still|about|around|roughly|approximately|maybe|perhaps|somewhere|near|"
    r"currently|less than|below|under|over|above|more than)[\s~≈]+)*"
    r"|(?:\s+(?:level|rating|value|estimate))?\s+of\s+(?:about\s+|only\s+)?|[\s\"'*`(~≈–—>-]*",
    re.IGNORECASE,
)
"""What stands between the word and its number."""
_LEADING = re.compile(r"[\s\"'*`(~≈<]*")
_TRAILING = "\"'*`). "
_AT_ITS_END = re.compile(
    r"[\"'*`)]*\s*(?:\Z|[.,;:!(–—-]|\n|because|since|as\b|given|confiden|sure\b|certain)",
    re.IGNORECASE,
)
"""Behind a number that stands alone at the beginning."""
_SENTENCE_END = re.compile(r"[.;!?](?=\s)|\n")
_LEVEL = "|".join(_LEVELS)
_LEVEL_OF = rf"(?P<level>{_LEVEL})(?:(?:\s*[-/]\s*|\s+to\s+)(?P<other>{_LEVEL}))?"
_NOUN = r"(?:confidence|certainty|probability|likelihood)"
_VERY = r"(?:(?:very|quite|rather|only|fairly|still|pretty|about|an?)\s+)*"
_IN_WORDS = tuple(
    re.compile(words, re.IGNORECASE)
    for words in (
        rf"\b{_NOUN}\b(?:[^.,;!?\n]{{0,40}}?"
        rf"(?:[:=|(–—-]|\b(?:is|as|at|to|remains|seems|looks|stays)\b))?"
        rf"[\s\"'*`|]*{_VERY}{_LEVEL_OF}\b",
        rf"\b{_LEVEL_OF}[\s-]+(?:\w+\s+){{0,2}}{_NOUN}\b",
        rf"\b(?P<degree>{'|'.join(_DEGREES)})\s+(?:confident|sure|certain)\b",
        r"\b(?P<unsure>uncertain|unsure|doubtful)\b|\b(?P<even>fifty[ -]fifty)\b",
    )
)
_IN_ONE_WORD = re.compile(rf"\W*(?:i(?:'d| would) say\s+)?{_VERY}{_LEVEL_OF}\b", re.IGNORECASE)
_NUMERAL = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[- ](?P<units>{'|'.join(_UNITS[1:10])}))?"
    rf"|(?P<other>{'|'.join(_UNITS)}|(?:(?:a|one)\s+)?hundred))"
    rf"(?=\s*{_PERCENT}|\s+out of\b|\s+of\s+(?:ten|a hundred)\b)"
    r"|(?<= of )(?:an?\s+)?(?P<scale>ten|hundred)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]*\d+[.)][ \t]+(?=\S)", re.MULTILINE)
"""The number of a list's item says nothing."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_MAX_CHARS = 4_000
"""Of a judgement; a longer text is read from its beginning."""
_MAX_SCALE = 100


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model said about its confidence."""

    score: float
    """From 0 to 1; 0.0 when there was none to be read."""
    reason: str
    """What it said, on one line; a first line that is only the number is left out."""


@dataclass(frozen=True, slots=True)
class _Number:
    score: float
    start: int
    end: int
    is_bare: bool
    """Nothing in its form says that it is a score, as a scale or a decimal point does."""


def judgement_in(said: str) -> Judgement:
    """Return the confidence that the words name, and what was said."""
    words = _ITEM.sub("", _FENCE.sub("", said)).strip()[:_MAX_CHARS]
    first, _, rest = words.partition("\n")
    bare = _LEADING.sub("", first, count=1).rstrip(_TRAILING)
    alone = _NUMBER.fullmatch(_NUMERAL.sub(_in_digits, bare))
    is_alone = alone is not None and _score(alone, 0.0) is not None
    score = next(_scores(_NUMERAL.sub(_in_digits, words)), 0.0)
    return Judgement(score, one_line(rest if is_alone else words, _MAX_CHARS))


def confidence_of(value: object) -> float:
    """Return the confidence that a JSON value names, from 0 to 1; 0.0 when it names none."""
    if isinstance(value, float):
        # An exponent would be read as a number of its own.
        return judgement_in(f"{value:f}").score
    is_read = isinstance(value, str | int) and not isinstance(value, bool)
    # Longer numbers are on no scale, and Python refuses to print very long ones.
    is_short = not isinstance(value, int) or abs(value) <= _MAX_SCALE
    return judgement_in(str(value)).score if is_read and is_short else 0.0


def _scores(words: str) -> Iterator[float]:
    """Yield what the words may mean, the likeliest first."""
    words, scale = _without_scale(words)
    found = list(_numbers(words, scale))
    names = [one.span() for one in _NAME.finditer(words)]
    begin = len(words) - len(_LEADING.sub("", words, count=1))
    opening = [one for one in found if one.start == begin]
    yield from (one.score for one in opening if _AT_ITS_END.match(words, one.end))
    yield from (one.score for one in found if _is_joined(one, names, words))
    near = [(gap, one) for one in found if (gap := _gap(one, names, words)) is not None]
    near.sort(key=lambda pair: pair[0])
    yield from (one.score for gap, one in near if not one.is_bare or gap <= 1)
    yield from _levels(words, _IN_WORDS)
    yield from (one.score for one in opening)
    yield from (one.score for one in found if not one.is_bare)
    if (level := _IN_ONE_WORD.match(words)) is not None:
        yield _level(level)
    yield from (one.score for one in found if _is_line(one, words) or one.score in (0, 1))


def _without_scale(words: str) -> tuple[str, float]:
    """Blank what says the scale of numbers that stand elsewhere; return it, 0 for none."""
    scales = [
        float((one["most"] or one["top"]).replace(",", ".")) for one in _SCALE.finditer(words)
    ]
    return _SCALE.sub(lambda one: " " * len(one[0]), words), scales[-1] if scales else 0.0


def _numbers(words: str, scale: float) -> Iterator[_Number]:
    """Yield the numbers that can be a confidence, in their order."""
    for match in _NUMBER.finditer(words):
        score = _score(match, scale)
        before = words[max(0, match.start() - _MAX_BEFORE) : match.start()]
        has_point = _FRACTION.fullmatch(match["value"]) is not None
        is_counted = not has_point and _COUNT.match(words, match.end())
        is_other = is_counted or _SHARE.match(words, match.end())
        if score is None or is_other or _NOT.search(before):
            continue
        if _BELOW.search(before):
            score = max(0.0, score - _LESS)
        has_scale = bool(scale or match["scale"] or match["round"] or match["percent"])
        yield _Number(score, match.start(), match.end(), not (has_scale or has_point))


def _score(match: re.Match[str], scale: float) -> float | None:
    """Return what a number means from 0 to 1; None: nothing. ``scale`` is said elsewhere."""
    ends = [float(one.replace(",", ".")) for one in (match["value"], match["other"]) if one]
    # Of a range its lower end.
    value = min(ends)
    if said := match["scale"] or match["round"]:
        most = float(said.replace(",", "."))
    elif match["percent"]:
        most = 100.0
    elif scale and (value >= 1 or value == 0):
        most = scale
    elif value <= 1:
        most = 1.0
    elif value < 2:
        return None
    else:
        most = 10.0 if max(ends) <= 10 else 100.0
    if value == most == 50:
        return _EVEN
    return value / most if most > 0 and value <= most else None


def _is_joined(one: _Number, names: Sequence[tuple[int, int]], words: str) -> bool:
    """Say whether a sign or a verb joins a number to the last name before it."""
    ends = [end for _, end in names if end <= one.start]
    return bool(ends) and _JOINED.fullmatch(words, ends[-1], one.start) is not None


def _gap(one: _Number, names: Iterable[tuple[int, int]], words: str) -> int | None:
    """Return how far a number is from the nearest name in its sentence; None without one."""
    gaps: list[int] = []
    for start, end in names:
        first, last = (end, one.start) if end <= one.start else (one.end, start)
        if _SENTENCE_END.search(words, first, last) is None:
            gaps.append(last - first)
    return min(gaps, default=None)


def _is_line(one: _Number, words: str) -> bool:
    """Say whether a number stands alone on a line."""
    start, end = words.rfind("\n", 0, one.start) + 1, words.find("\n", one.end)
    around = words[start : one.start] + words[one.end : end if end >= 0 else len(words)]
    return not around.strip(" \t\"'*`().~≈")


def _levels(words: str, forms: Iterable[re.Pattern[str]]) -> Iterator[float]:
    for form in forms:
        for match in form.finditer(words):
            if not _NOT.search(words[max(0, match.start() - _MAX_BEFORE) : match.start()]):
                yield _level(match)


def _level(match: re.Match[str]) -> float:
    said = match.groupdict()
    if said.get("unsure"):
        return _UNSURE
    if said.get("even"):
        return _EVEN
    if degree := said.get("degree"):
        return _DEGREES[degree.lower()]
    levels = [_LEVELS[one.lower()] for one in (said.get("level"), said.get("other")) if one]
    return round(sum(levels) / len(levels), 2)


def _in_digits(match: re.Match[str]) -> str:
    said = match.groupdict()
    if tens := said["tens"]:
        return str(_NUMERALS[tens.lower()] + _NUMERALS[(said["units"] or "zero").lower()])
    return str(_NUMERALS[(said["other"] or said["scale"]).lower().split()[-1]])
