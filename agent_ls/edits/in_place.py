"""The bytes of a text that takes the place of a file's. Pure."""

from __future__ import annotations

from agent_ls.domain.edits import apply_replacements, text_of
from agent_ls.edits.encodings import written_like
from agent_ls.edits.minimal import replacements_between


def in_place_of(text: str, sample: bytes | None) -> bytes:
    """Return a text as it is written in the place of ``sample``; lines that stay end as there."""
    if sample is not None and b"\r" in sample and "\r" not in text:
        before = text_of(sample)[0].removeprefix("\ufeff")
        text = apply_replacements(before, replacements_between(before, text))
    return written_like(text, sample)
