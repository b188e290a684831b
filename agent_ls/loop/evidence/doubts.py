"""Says whether a model voices doubt about its own work. The phrases are in ``doubts.toml``."""

from __future__ import annotations

from pathlib import Path

from agent_ls.loop.evidence.phrases import read_phrases, sentences_of, spoken

LANGUAGES = read_phrases(Path(__file__).with_name("doubts.toml"))
"""By code."""


def is_in_doubt(text: str) -> bool:
    """Say whether the end of a text doubts what it says. Code and quotes do not count."""
    sentences = sentences_of(text[-_MAX_CHARS:])
    languages = spoken(LANGUAGES, " ".join(one.words for one in sentences))
    return any(
        language.has("doubts", language.pattern("condition").sub("", one.words))
        for language in languages
        for one in sentences
    )


_MAX_CHARS = 4_000
