"""Says whether an answer announces an action. The phrases are in ``announcements.toml``."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path

from agent_ls.loop.evidence.phrases import Language, closing_sentences, read_phrases, spoken

LANGUAGES = read_phrases(Path(__file__).with_name("announcements.toml"))
"""By code."""


class _Kind(Enum):
    """What a sentence is, read in one language."""

    PLAIN = auto()
    ANNOUNCEMENT = auto()
    NEXT_STEP = auto()
    """An announcement, unless something was reported before."""
    REPORT = auto()
    HANDS_OVER = auto()


def announced_action(text: str) -> str | None:
    """Return the last announced action, unless a report or a question follows it.

    What the model will do once the user has done something is none.
    """
    announced: str | None = None
    has_reported = is_handed_over = False
    for sentence in closing_sentences(text):
        kinds = {_kind(one, sentence.words) for one in spoken(LANGUAGES, sentence.words)}
        has_reported = has_reported or _Kind.REPORT in kinds
        if _Kind.HANDS_OVER in kinds or (is_handed_over and _is_then(sentence.words)):
            announced, is_handed_over = None, True
        elif _Kind.ANNOUNCEMENT in kinds or (_Kind.NEXT_STEP in kinds and not has_reported):
            announced = sentence.text
        elif _Kind.REPORT in kinds:
            announced = None
    return announced[:_MAX_QUOTED_CHARS] if announced else None


def _is_then(words: str) -> bool:
    """Say whether a sentence says what follows upon the one before."""
    return any(one.has("then", words) for one in spoken(LANGUAGES, words))


def _kind(language: Language, words: str) -> _Kind:
    words = language.pattern("lead").sub("", words)
    if language.has("hands_over", words) or language.has("waits", words):
        return _Kind.HANDS_OVER
    marked = language.marked("talk", "¬", language.marked("adverb", "~", words))
    end = max((one.end() for one in language.pattern("announces").finditer(marked)), default=0)
    if _report_start(language, words) >= end:
        return _Kind.REPORT
    if language.has("voids", words):
        return _Kind.PLAIN
    if end:
        return _Kind.ANNOUNCEMENT
    return _Kind.NEXT_STEP if language.has("next_step", words) else _Kind.PLAIN


def _report_start(language: Language, words: str) -> int:
    """Return where a sentence last says that something is done, not will or may be; else -1."""
    starts = [match.start() for match in language.pattern("reports").finditer(words)]
    return max((at for at in starts if not language.has("not_yet", words[:at])), default=-1)


_MAX_QUOTED_CHARS = 200
