"""Texts that people and models wrote: code set apart, everything else as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_ls.domain.sentences import counted
from agent_ls.observers.report.diffs import Material
from agent_ls.observers.report.html import Html, join, tag
from agent_ls.observers.report.words import cut

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")


def prose(text: str, material: Material) -> Html:
    """Return a model's or a person's text: code set apart, everything else as it was written."""
    shown, missing = cut(text.strip("\n"), material.max_characters)
    parts: list[Html] = []
    at = 0
    for fence in _FENCE.finditer(shown):
        parts += _paragraphs(shown[at : fence.start()])
        parts.append(tag("pre", fence.group(1).rstrip("\n"), class_="code", tabindex=0))
        at = fence.end()
    parts += _paragraphs(shown[at:])
    return join(*parts, missing_words(missing))


def _paragraphs(text: str) -> Iterator[Html]:
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        if paragraph.strip():
            # Every second piece is what stands between backticks.
            pieces = _CODE.split(paragraph)
            yield tag("p", *(tag("code", one) if at % 2 else one for at, one in enumerate(pieces)))


def missing_words(count: int) -> Html | None:
    """Return how much of a text was left out; None when nothing was."""
    return tag("span", f"… {counted(count, 'more character')}", class_="more") if count else None
